#include "operator/core/round/roster.h"

#include <algorithm>
#include <set>
#include <vector>

#include "operator/core/ending/ended.h"
#include "operator/core/leave/spares.h"
#include "operator/core/leave/spot.h"
#include "operator/core/state/membership.h"
#include "operator/core/state/workers.h"

namespace muster::control {
namespace {

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

}  // namespace

bool MayHoldState(const Worker& worker) {
  const AgentView* agent = worker.agent;
  return agent != nullptr && (agent->seen.round > 0 || agent->ready || agent->joined);
}

bool HoldsNewest(const Draft& draft, const Worker& worker) {
  return draft.plan.memory.holders.count({worker.index, worker.incarnation}) > 0;
}

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

void GiveSeat(const Worker& worker, Roster& roster) {
  const auto after = std::find_if(roster.present.begin(), roster.present.end(),
                                  [&](const Worker* other) { return other->index > worker.index; });
  roster.seats.insert(roster.seats.begin() + (after - roster.present.begin()), Seat{worker.index});
  roster.present.insert(after, &worker);
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

}  // namespace muster::control
