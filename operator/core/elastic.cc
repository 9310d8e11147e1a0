#include "operator/core/elastic.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "operator/core/membership.h"
#include "operator/core/spec_values.h"
#include "operator/core/workers.h"

namespace muster::control {
namespace {

bool IsShrunk(const RoundMemory& memory, int index) {
  const auto worker = memory.workers.find(index);
  return worker != memory.workers.end() && worker->second.shrunk;
}

struct Muster {
  std::vector<const Worker*> present;  // without those that Shrink leaves out
  std::vector<const Worker*> shrunk;   // present, and left out
  int unknown = 0;
  absl::Time recheck = absl::InfiniteFuture();
};

Muster Count(const Draft& draft) {
  Muster muster;
  const int count = WorkerCount(draft.spec());
  for (const Worker& worker : draft.workers) {
    if (worker.index >= count) break;
    muster.recheck = std::min(muster.recheck, worker.recheck);
    if (worker.presence == Presence::kUnknown) ++muster.unknown;
    if (worker.presence != Presence::kPresent) continue;
    const bool left_out = IsShrunk(draft.plan.memory, worker.index);
    (left_out ? muster.shrunk : muster.present).push_back(&worker);
  }
  return muster;
}

// Those that Shrink leaves out are taken back in when the gang would be too small without them.
void TakeBack(int at_least, Muster& muster) {
  if (static_cast<int>(muster.present.size()) >= at_least) return;
  muster.present.insert(muster.present.end(), muster.shrunk.begin(), muster.shrunk.end());
  muster.shrunk.clear();
  std::sort(muster.present.begin(), muster.present.end(),
            [](const Worker* a, const Worker* b) { return a->index < b->index; });
}

}  // namespace

bool HasStarted(const Draft& draft) {
  return draft.plan.memory.was_active || draft.view.status.progress().step() > 0 ||
         IsTrue(draft.view.status, ConditionType::kRunning);
}

Wanted ChooseMembers(const Draft& draft) {
  const RoundMemory& memory = draft.plan.memory;
  const int count = WorkerCount(draft.spec());
  // A job being stopped forms a round once more, with whoever is there, to save their state.
  const bool stopping = memory.stopping_since.has_value();
  const int at_least = stopping ? 1 : std::min(count, MinWorkers(draft.spec()));
  Muster muster = Count(draft);
  TakeBack(at_least, muster);
  const int here = static_cast<int>(muster.present.size());
  Wanted wanted;
  wanted.wait_sentence = absl::StrCat(here, " of ", count, " workers are bound and attached");
  wanted.recheck = muster.recheck;
  const int missing = count - here - static_cast<int>(muster.shrunk.size());
  if (count > 0 && missing <= 0) {
    wanted.workers = std::move(muster.present);
    return wanted;
  }
  if (muster.unknown > 0) wanted.wait_reason = Reason::kUnknownAfterTakeOver;
  if (muster.unknown > 0 || !HasStarted(draft) || here < at_least) return wanted;
  const bool at_once =
      stopping || (ShrinksOnFailure(draft.spec()) && memory.phase == RoundPhase::kHolding);
  const absl::Time until = memory.phase_since + draft.options.replacement_wait;
  if (at_once || draft.view.now >= until) {
    wanted.workers = std::move(muster.present);
  } else {
    wanted.recheck = std::min(wanted.recheck, until);
  }
  return wanted;
}

std::optional<Break> FindOtherMembersWanted(const Draft& draft) {
  const RoundMemory& memory = draft.plan.memory;
  if (memory.phase != RoundPhase::kActive || memory.stopping_since) return std::nullopt;
  const std::set<int> members = MemberIndices(memory.members);
  const int count = WorkerCount(draft.spec());
  Break found;
  found.reason = Reason::kMembershipChanged;
  if (!members.empty() && *members.rbegin() >= count && count > 0) {
    found.sentence = absl::StrCat("workers.count is ", count, " now");
    return found;
  }
  if (draft.view.now < memory.phase_since + draft.options.grow_delay) return std::nullopt;
  for (const Worker& worker : draft.workers) {
    if (worker.index >= count || members.count(worker.index) > 0) continue;
    if (worker.presence != Presence::kPresent) continue;
    found.sentence = absl::StrCat("worker ", worker.index, " is there and joins");
    return found;
  }
  return std::nullopt;
}

}  // namespace muster::control
