#include "operator/core/round/shard_fit.h"

#include <algorithm>
#include <cstddef>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "operator/core/state/spec_values.h"
#include "planner/layout.h"
#include "proto/muster/v1alpha1/run_state.pb.h"

namespace muster::control {
namespace {

// Marks up to `most` workers, those before others that add a slice to what the marked ones hold.
std::vector<bool> MarkHolders(const Draft& draft, const std::vector<const Worker*>& workers,
                              size_t most) {
  std::vector<bool> marked(workers.size());
  std::set<std::pair<int, int>> held;
  size_t taken = 0;
  for (size_t i = 0; i < workers.size() && taken < most; ++i) {
    const auto& holders = draft.plan.memory.holders;
    const auto holder = holders.find({workers[i]->index, workers[i]->incarnation});
    if (holder == holders.end()) continue;
    for (const v1alpha1::StateSlice& slice : holder->second) {
      if (held.emplace(slice.shards(), slice.shard()).second) marked[i] = true;
    }
    taken += marked[i];
  }
  return marked;
}

// Marks `most` workers in all.
void MarkOthers(const Draft& draft, const std::vector<const Worker*>& workers, size_t most,
                std::vector<bool>& marked) {
  size_t taken = std::count(marked.begin(), marked.end(), true);
  const auto mark = [&](auto wanted) {
    for (size_t i = 0; i < workers.size() && taken < most; ++i) {
      if (marked[i] || !wanted(*workers[i])) continue;
      marked[i] = true;
      ++taken;
    }
  };
  mark([&](const Worker& worker) { return HoldsNewest(draft, worker); });
  mark([](const Worker& worker) { return MayHoldState(worker); });
  mark([](const Worker&) { return true; });
}

}  // namespace

void FitToShard(const Draft& draft, Roster& roster) {
  const std::vector<const Worker*> present = std::exchange(roster.present, {});
  const std::vector<Seat> seats = std::exchange(roster.seats, {});
  size_t most = WorkersThatForm(draft.spec(), static_cast<int>(present.size()));
  // A job that is being stopped saves with the workers that are there, however few.
  if (most == 0) most = present.size();
  std::vector<bool> stays = MarkHolders(draft, present, most);
  MarkOthers(draft, present, most, stays);
  for (size_t i = 0; i < present.size(); ++i) {
    if (stays[i]) {
      roster.present.push_back(present[i]);
      roster.seats.push_back(seats[i]);
    } else {
      roster.others.push_back(present[i]);
    }
  }
}

std::string WhyNoneForm(const Draft& draft, int workers) {
  if (workers < 1 || WorkersThatForm(draft.spec(), workers) > 0) return "";
  const int ranks = workers * planner::RanksOf(draft.spec().workers());
  return absl::StrCat(ranks, ranks == 1 ? " rank is" : " ranks are", " there, and ",
                      draft.spec().trainer().parallelism().shard(),
                      " divide a copy of the state, as parallelism.shard says: the job waits for "
                      "more workers; parallelism.minShard would let fewer ranks train, with more "
                      "of the state on each");
}

bool SparesMakeUp(const Draft& draft, const Roster& roster) {
  const size_t before = draft.plan.memory.members.size();
  if (!HasShard(draft.spec()) || before == 0) return false;
  if (static_cast<int>(before) >= roster.open) return false;
  return roster.present.size() >= before;
}

}  // namespace muster::control
