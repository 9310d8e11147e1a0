#include "operator/core/round/next_members.h"

#include <algorithm>
#include <cstddef>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "operator/core/ending/ended.h"
#include "operator/core/failure/fence.h"
#include "operator/core/leave/spot.h"
#include "operator/core/state/growth_sizes.h"
#include "operator/core/state/membership.h"
#include "operator/core/state/spec_values.h"
#include "operator/core/state/workers.h"
#include "planner/layout.h"
#include "proto/muster/v1alpha1/run_state.pb.h"

namespace muster::control {
namespace {

// The workers that can be in the next round, and their seats.
struct Roster {
  std::vector<Seat> seats;             // of a round opened now, in rank order
  std::vector<const Worker*> present;  // their workers
  // Present, but without a seat: left out by Shrink, leaving, above the wanted number, or spares.
  std::vector<const Worker*> others;
  int unknown = 0;  // workers out of contact that may come back, and hold state or are needed
  int open = 0;     // seats to fill: the wanted size, without commands that have ended
  int missing = 0;  // seats for which a worker is awaited
  absl::Time recheck = absl::InfiniteFuture();
};

// Returns true if the worker's ranks may hold weights, because it was in a round before.
bool MayHoldState(const Worker& worker) {
  const AgentView* agent = worker.agent;
  return agent != nullptr && (agent->seen.round > 0 || agent->ready || agent->joined);
}

// Returns true if the worker was in the last Active round, whose state is the newest.
bool HoldsNewest(const Draft& draft, const Worker& worker) {
  return draft.plan.memory.holders.count({worker.index, worker.incarnation}) > 0;
}

// The workers by what they can do, before any has a seat.
struct Counted {
  std::vector<const Worker*> able;
  std::vector<const Worker*> loading;   // replacements of members, which are able a little later
  std::vector<const Worker*> left_out;  // by Shrink, or because they leave their nodes
  std::vector<const Worker*> beyond;    // above the number of pods, and may hold state
  int unknown_holders = 0;
  int unknown_others = 0;
  absl::Time recheck = absl::InfiniteFuture();
};

// Until a round's members are known, any worker may be in the one that was recorded.
bool MayBeStepping(const Draft& draft, const Worker& worker) {
  const RoundMemory& memory = draft.plan.memory;
  if (HoldsNewest(draft, worker) || MayHoldState(worker)) return true;
  if (memory.members.empty()) return draft.view.status.round() > 0;
  return MemberIndices(memory.members).count(worker.index) > 0;
}

// Returns true if the next round would have to wait for the ranks of this spare to load. Always
// false without a current round: there is no training to hold up, and no other worker has the seat
// of its index.
bool IsLoadingSpare(const Draft& draft, const Worker& worker) {
  const RoundMemory& memory = draft.plan.memory;
  if (draft.SparesWanted() == 0 || memory.members.empty() || !worker.agent->loading) return false;
  return MemberIndices(memory.members).count(worker.index) == 0;
}

// The seat of a replacement whose ranks still load can be taken by a spare at once.
bool IsLoadingReplacement(const Draft& draft, const Worker& worker) {
  if (draft.SparesWanted() == 0 || !worker.agent->loading) return false;
  const auto& members = draft.plan.memory.members;
  return std::any_of(members.begin(), members.end(), [&](const v1alpha1::Member& member) {
    return member.worker().index() == worker.index &&
           member.worker().incarnation() != worker.incarnation;
  });
}

Counted Count(const Draft& draft, int pods) {
  Counted counted;
  for (const Worker& worker : draft.workers) {
    if (worker.ended) continue;
    const bool above = worker.index >= pods;
    if (above && !MayHoldState(worker) && !HoldsNewest(draft, worker)) continue;
    counted.recheck = std::min(counted.recheck, worker.recheck);
    if (worker.presence == Presence::kUnknown) {
      ++(above || MayBeStepping(draft, worker) ? counted.unknown_holders : counted.unknown_others);
    }
    if (worker.presence != Presence::kPresent || NeedsReplacement(draft.plan.memory, worker.index))
      continue;
    const RoundMemory& memory = draft.plan.memory;
    if (above) {
      counted.beyond.push_back(&worker);
    } else if (IsShrunk(memory, worker.index) || IsLeaving(memory, worker)) {
      counted.left_out.push_back(&worker);
    } else if (IsLoadingReplacement(draft, worker)) {
      counted.loading.push_back(&worker);
    } else if (!IsLoadingSpare(draft, worker)) {
      counted.able.push_back(&worker);
    }
  }
  return counted;
}

std::vector<SeatCandidate> CandidatesOf(const std::vector<const Worker*>& workers) {
  std::vector<SeatCandidate> candidates;
  for (const Worker* worker : workers) {
    candidates.push_back({worker->index, worker->pod->node_domains});
  }
  return candidates;
}

// Returns the workers of the last round by rank, with index -1 for those that are not known.
// Without spares the ranks follow the indices.
std::vector<SeatCandidate> LastSeats(const Draft& draft) {
  std::vector<SeatCandidate> before;
  const RoundMemory& memory = draft.plan.memory;
  if (draft.SparesWanted() == 0) return before;
  const auto add_lost = [&](int places) {
    while (static_cast<int>(before.size()) < places) before.push_back({-1, {}});
  };
  for (const v1alpha1::Member& member : memory.members) {
    const int index = member.worker().index();
    if (memory.swap.places > 0) add_lost(member.first_rank() / std::max(1, member.ranks()));
    // A command that has ended has left its seat for good.
    const Worker* worker = draft.FindWorker(index);
    if (worker != nullptr && worker->ended) continue;
    const auto known = memory.swap.domains.find(index);
    before.push_back(
        {index, known == memory.swap.domains.end() ? std::vector<std::string>() : known->second});
  }
  add_lost(memory.swap.places);
  return before;
}

// Returns the roster of a round of `size` workers. Workers that Shrink left out, or that leave
// their nodes, get a seat only if the round would otherwise have fewer than `at_least` workers.
Roster TakeRoster(const Draft& draft, int size, int at_least) {
  Counted counted = Count(draft, size + draft.SparesWanted());
  Roster roster;
  roster.recheck = counted.recheck;
  roster.open = size - EndedWorkers(draft);
  for (const Worker* worker : counted.loading) {
    if (static_cast<int>(counted.able.size()) < roster.open) counted.able.push_back(worker);
  }
  const int spared = static_cast<int>(counted.able.size()) - roster.open;
  int excused = static_cast<int>(counted.left_out.size());
  if (static_cast<int>(counted.able.size()) < std::min(at_least, roster.open)) {
    counted.able.insert(counted.able.end(), counted.left_out.begin(), counted.left_out.end());
    counted.left_out.clear();
    excused = 0;
  }
  roster.seats = AssignSeats(LastSeats(draft), CandidatesOf(counted.able), roster.open);
  std::set<int> seated;
  int taken_over = 0;
  for (const Seat& seat : roster.seats) {
    roster.present.push_back(draft.FindWorker(seat.index));
    seated.insert(seat.index);
    taken_over += seat.takes_over >= 0;
  }
  roster.others = counted.beyond;
  for (const Worker* worker : counted.left_out) roster.others.push_back(worker);
  for (const Worker* worker : counted.able) {
    if (seated.count(worker->index) == 0) roster.others.push_back(worker);
  }
  // A spare sits in the place of one that was left out before it sits in that of a lost one.
  const int here = static_cast<int>(roster.present.size());
  roster.missing = roster.open - here - std::max(0, excused - taken_over);
  roster.unknown = counted.unknown_holders + (spared < 0 ? counted.unknown_others : 0);
  return roster;
}

// Adds the worker to the roster's round, among the others by its index.
void GiveSeat(const Worker& worker, Roster& roster) {
  const auto after = std::find_if(roster.present.begin(), roster.present.end(),
                                  [&](const Worker* other) { return other->index > worker.index; });
  roster.seats.insert(roster.seats.begin() + (after - roster.present.begin()), Seat{worker.index});
  roster.present.insert(after, &worker);
}

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

// Keeps only as many workers in the roster's round as can form one, or all if they are too few, and
// moves the others to roster.others. Prefers workers that together hold every slice of the newest
// state, then other holders of it, so that no slice is lost that a present worker holds.
void FitToMultiple(const Draft& draft, Roster& roster) {
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

// Returns why `workers` workers cannot form a round; empty if they can, or if `workers` is below 1.
std::string WhyNoneForm(const Draft& draft, int workers) {
  if (workers < 1 || WorkersThatForm(draft.spec(), workers) > 0) return "";
  const int ranks = workers * planner::RanksOf(draft.spec().workers());
  const v1alpha1::ParallelismSpec& parallelism = draft.spec().trainer().parallelism();
  const int together = planner::RanksOfMicroBatch(parallelism);
  if (ranks < together) {
    return absl::StrCat(
        ranks, ranks == 1 ? " rank is" : " ranks are", " there, and ", together,
        " work on one micro-batch, as parallelism.pipeline, context and tensor say: the job "
        "waits for more workers");
  }
  return absl::StrCat(ranks, ranks == 1 ? " rank is" : " ranks are", " there, and ",
                      draft.spec().trainer().parallelism().shard(),
                      " divide a copy of the state, as parallelism.shard says: the job waits for "
                      "more workers; parallelism.minShard would let fewer ranks train, with more "
                      "of the state on each");
}

// Returns true if workers that the last round left over can take the seats of those that it lost,
// so that the next round is as large without waiting for another worker.
bool SparesMakeUp(const Draft& draft, const Roster& roster) {
  const size_t before = draft.plan.memory.members.size();
  if (!FormsByMultiples(draft.spec()) || before == 0) return false;
  if (static_cast<int>(before) >= roster.open) return false;
  return roster.present.size() >= before;
}

// Returns true if a worker beyond workers.count can be in the next round, or still be in this one.
bool IsThere(const Draft& draft, const Worker* worker, const std::set<int>& members) {
  const RoundMemory& memory = draft.plan.memory;
  if (worker == nullptr || IsShrunk(memory, worker->index) || IsLeaving(memory, *worker)) {
    return false;
  }
  if (worker->presence == Presence::kUnknown) return members.count(worker->index) > 0;
  return worker->presence == Presence::kPresent && !NeedsReplacement(memory, worker->index);
}

const AgentView* FindAgent(const JobView& view, const PodView& pod) {
  for (const AgentView& agent : view.agents) {
    if (agent.pod_uid == pod.uid) return &agent;
  }
  return nullptr;
}

// Returns true if a member of the last round is being deleted and may still save or even step. A
// new leader does not know the members, nor whether an agent that has not attached yet lives.
bool IsHolderLeaving(const Draft& draft) {
  const auto& holders = draft.plan.memory.holders;
  for (const PodView& pod : draft.view.pods) {
    if (!pod.deleting || pod.phase != PodPhase::kRunning) continue;
    const AgentView* agent = FindAgent(draft.view, pod);
    const bool was_in = agent == nullptr || agent->seen.round > 0;
    const bool held = holders.empty() ? was_in : holders.count({pod.index, pod.incarnation}) > 0;
    const absl::Time heard = agent == nullptr ? draft.view.leading_since
                                              : std::max(agent->last_heard, agent->detached_at);
    const absl::Time listened = std::min(draft.view.now, draft.view.heard_until);
    if (held && heard + draft.options.unknown_window > listened) return true;
  }
  return false;
}

// A round of workers without state would throw away the state that another one holds, and that
// one's old round might even step on beside it. So one holder takes part until the others have its
// state. Returns false if the only holders are being deleted and are worth waiting for.
bool KeepOneHolder(const Draft& draft, Roster& roster) {
  // A job that restarts wants no live state, and a command holds none.
  if (draft.plan.memory.failure.restart_job || !draft.spec().has_trainer()) return true;
  auto newest = [&](const Worker* worker) { return HoldsNewest(draft, *worker); };
  auto any = [&](const Worker* worker) { return MayHoldState(*worker); };
  auto has = [](const std::vector<const Worker*>& workers, const auto& holds) {
    return std::any_of(workers.begin(), workers.end(), holds);
  };
  if (has(roster.present, newest)) return true;
  auto holder = std::find_if(roster.others.begin(), roster.others.end(), newest);
  if (holder == roster.others.end()) {
    if (IsHolderLeaving(draft)) return false;
    if (has(roster.present, any)) return true;
    holder = std::find_if(roster.others.begin(), roster.others.end(), any);
  }
  if (holder == roster.others.end()) return true;
  const int most = std::max(draft.spec().workers().max(), draft.WorkersWanted());
  if (static_cast<int>(roster.present.size()) >= most) {
    roster.present.pop_back();
    roster.seats.pop_back();
  }
  GiveSeat(**holder, roster);
  return true;
}

}  // namespace

int SizeOfRound(const Draft& draft) {
  const int wanted = draft.WorkersWanted();
  const int count = WorkerCount(draft.spec());
  if (wanted <= count) return wanted;
  const std::set<int> members = MemberIndices(draft.plan.memory.members);
  int there = count;
  while (there < wanted && IsThere(draft, draft.FindWorker(there), members)) ++there;
  return std::max(count, LargestUpTo(LargerSizes(draft.spec()), there));
}

std::set<int> StayingMembers(const Draft& draft, int size) {
  const int pods = size + draft.SparesWanted();
  std::set<int> staying;
  for (const v1alpha1::Member& member : draft.plan.memory.members) {
    if (static_cast<int>(staying.size()) == size) break;
    if (member.worker().index() < pods) staying.insert(member.worker().index());
  }
  return staying;
}

bool HasStarted(const Draft& draft) {
  return draft.plan.memory.was_active || draft.view.status.progress().step() > 0 ||
         IsTrue(draft.view.status, ConditionType::kRunning);
}

MemberSelection ChooseMembers(const Draft& draft) {
  const RoundMemory& memory = draft.plan.memory;
  const int count = SizeOfRound(draft);
  // A job that is being stopped forms one more round of whichever workers are there, to save their
  // state.
  const bool stopping = memory.stop.since.has_value();
  Roster roster = TakeRoster(draft, count, stopping ? 1 : MinWorkers(draft.spec()));
  const int open = roster.open;
  const int at_least = stopping ? 1 : std::min(open, MinWorkers(draft.spec()));
  const int here = static_cast<int>(roster.present.size());
  MemberSelection wanted;
  wanted.wait_sentence = absl::StrCat(here, " of ", open, " workers are bound and attached");
  wanted.recheck = roster.recheck;
  if (!KeepOneHolder(draft, roster)) {
    wanted.wait_sentence =
        "a worker that is being deleted still saves state that no other worker holds";
    wanted.recheck = std::min(wanted.recheck, draft.view.now + absl::Seconds(1));
    return wanted;
  }
  if (const PodView* pod = FindPossiblyRunning(draft)) {
    wanted.wait_reason = Reason::kEndUnconfirmed;
    wanted.wait_sentence = DescribeUnconfirmed(*pod);
    wanted.recheck = std::min(wanted.recheck, EndIsConfirmedAt(draft, *pod));
    return wanted;
  }
  const std::string too_few =
      stopping ? "" : WhyNoneForm(draft, static_cast<int>(roster.present.size()));
  if (!too_few.empty()) wanted.wait_sentence = too_few;
  if (too_few.empty() && FormsByMultiples(draft.spec())) FitToMultiple(draft, roster);
  if (too_few.empty() && count > 0 && here > 0 && roster.missing <= 0 && roster.unknown == 0) {
    wanted.workers = std::move(roster.present);
    wanted.seats = std::move(roster.seats);
    return wanted;
  }
  if (roster.unknown > 0) wanted.wait_reason = Reason::kUnknownAfterTakeOver;
  // Only a gang that does not fit as a whole starts with fewer workers.
  const bool may_be_fewer = HasStarted(draft) || !draft.view.placement.reason.empty();
  if (roster.unknown > 0 || !may_be_fewer || here < at_least || !too_few.empty()) return wanted;
  // A planned change of members lost no worker, and workers that come later join later.
  const bool planned =
      memory.phase == RoundPhase::kHolding && memory.broken_reason == Reason::kMembershipChanged;
  const bool at_once = stopping || planned || SparesMakeUp(draft, roster) ||
                       (ShrinksOnFailure(draft.spec()) && memory.phase == RoundPhase::kHolding);
  const absl::Time until = memory.phase_since + draft.options.replacement_wait;
  if (at_once || draft.view.now >= until) {
    wanted.workers = std::move(roster.present);
    wanted.seats = std::move(roster.seats);
  } else {
    wanted.recheck = std::min(wanted.recheck, until);
  }
  return wanted;
}

}  // namespace muster::control
