#include "operator/core/round/elastic.h"

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "operator/core/ending/ended.h"
#include "operator/core/leave/spares.h"
#include "operator/core/leave/spot.h"
#include "operator/core/round/next_members.h"
#include "operator/core/state/index_ranges.h"
#include "operator/core/state/membership.h"
#include "operator/core/state/spec_values.h"
#include "operator/core/state/workers.h"

namespace muster::control {
namespace {

// Returns true if some rank of the worker has not ended, as far as is known.
bool RunsOn(const AgentView& agent, const RoundStamp& round) {
  std::set<int> ended;
  for (const ExitReport& exit : agent.exits) {
    if (exit.round == round) ended.insert(exit.local_rank);
  }
  return static_cast<int>(ended.size()) < agent.ranks;
}

// Workers that have come while a round trains without them.
struct Newcomers {
  std::vector<const Worker*> there;
  bool others_come = false;  // others are on their way
  // When one that still loads is there nevertheless.
  absl::Time loaded_at_latest = absl::InfiniteFuture();
};

// Returns the time from which a round would not wait for the ranks of an attached worker to load,
// or, if that is not known, would rather wait than train on without it.
absl::Time LoadedAt(const Draft& draft, const AgentView& agent) {
  return agent.loading ? agent.attached_at + draft.options.join_deadline : agent.attached_at;
}

// Returns the workers that would join a round of `joining` workers. Leaves out spares that no seat
// is free for, and workers whose ranks still load: always if the job has spares, else until
// LoadedAt().
Newcomers FindNewcomers(const Draft& draft, int joining) {
  const RoundMemory& memory = draft.plan.memory;
  Newcomers found;
  const std::set<int> members = MemberIndices(memory.members);
  const int empty = EmptySeats(draft, joining, members);
  if (empty <= 0) return found;
  const int spares = draft.SparesWanted();
  for (int index = 0; index < joining + spares; ++index) {
    if (members.count(index) > 0) continue;
    const Worker* worker = draft.FindWorker(index);
    if (worker != nullptr && (worker->ended || IsLeaving(memory, *worker))) continue;
    if (worker != nullptr && worker->presence == Presence::kPresent) {
      const absl::Time loaded_at = spares > 0 && worker->agent->loading
                                       ? absl::InfiniteFuture()
                                       : LoadedAt(draft, *worker->agent);
      if (loaded_at <= draft.view.now) {
        found.there.push_back(worker);
        continue;
      }
      found.loaded_at_latest = std::min(found.loaded_at_latest, loaded_at);
    }
    found.others_come =
        found.others_come || IsOnNode(worker) || draft.view.placement.reason.empty();
  }
  if (static_cast<int>(found.there.size()) >= empty) {
    found.there.resize(empty);
    found.others_come = false;
  }
  // Workers that would be left over do not interrupt the others.
  const int had = static_cast<int>(members.size());
  const int formed = WorkersThatForm(draft.spec(), had + static_cast<int>(found.there.size()));
  found.there.resize(std::max(0, formed - had));
  return found;
}

// Returns how many workers can join the Active round now: those beyond workers.count that come one
// after the other join in one round.
int MostToJoin(const Draft& draft) {
  const int size = SizeOfRound(draft);
  return size < draft.WorkersWanted() ? WorkerCount(draft.spec()) : size;
}

// Returns the time at which the Active round takes newcomers in: at once if all are there, else
// some time after the first has come, since each time interrupts the others.
absl::Time TimeToJoin(const Draft& draft, const Newcomers& newcomers) {
  if (newcomers.there.empty()) return newcomers.loaded_at_latest;
  const absl::Time settled = draft.plan.memory.phase_since + draft.options.grow_delay;
  if (!newcomers.others_come) return settled;
  absl::Time first = absl::InfiniteFuture();
  for (const Worker* worker : newcomers.there) {
    first = std::min(first, worker->agent->attached_at);
  }
  return std::max(settled, first + draft.options.replacement_wait);
}

// Returns why a round with more workers than `count` ends.
std::string DescribeShrink(const Draft& draft, int count) {
  const v1alpha1::PreemptionStatus& order = draft.plan.status.preemption();
  const bool by_queue =
      count < WorkerCount(draft.spec()) || order.reason() == Name(Reason::kYielded);
  if (by_queue) return absl::StrCat("the job ", order.message());
  if (GrowsByItself(draft.spec())) return absl::StrCat("the job has ", count, " workers now");
  if (static_cast<int>(draft.plan.memory.members.size()) <= count) {
    return absl::StrCat("the job has ", draft.SparesWanted(), " spares now");
  }
  return absl::StrCat("workers.count is ", count, " now");
}

}  // namespace

bool CanLeaveOut(const Draft& draft, const std::set<int>& failed) {
  if (!ShrinksOnFailure(draft.spec())) return false;
  const int left = static_cast<int>(draft.plan.memory.members.size() - failed.size());
  return left + ReadySpares(draft) >= MinWorkers(draft.spec());
}

void StopLeftOut(Draft& draft) {
  if (draft.spec().has_trainer()) return;
  RoundMemory& memory = draft.memory();
  const std::set<int> staying = StayingMembers(draft, draft.WorkersWanted());
  for (const v1alpha1::Member& member : memory.members) {
    const Worker* worker = WorkerOf(draft, member);
    if (worker == nullptr) continue;
    const AgentView* agent = worker->agent;
    if (worker->ended || agent == nullptr || !agent->attached) continue;
    // Pods that are wanted no more are deleted, which ends their ranks as well.
    const bool becomes_spare =
        worker->index < draft.PodsWanted() && staying.count(worker->index) == 0;
    if (!becomes_spare && !IsShrunk(memory, worker->index)) continue;
    if (!RunsOn(*agent, memory.id)) continue;
    if (memory.stop.sent_session[worker->index] == agent->session) continue;
    memory.stop.sent_session[worker->index] = agent->session;
    memory.workers[worker->index].told_to_stop = worker->incarnation;
    draft.Send(*worker, StopOrder{memory.id, false, "the job goes on without this worker"});
  }
}

std::optional<Break> FindOtherMembers(const Draft& draft) {
  const RoundMemory& memory = draft.plan.memory;
  if (memory.phase != RoundPhase::kActive || memory.stop.since) return std::nullopt;
  const int count = SizeOfRound(draft);
  Break found;
  found.reason = Reason::kMembershipChanged;
  if (count > 0 && StayingMembers(draft, count).size() < memory.members.size()) {
    found.sentence = DescribeShrink(draft, count);
    return found;
  }
  const Newcomers newcomers = FindNewcomers(draft, MostToJoin(draft));
  if (draft.view.now < TimeToJoin(draft, newcomers)) return std::nullopt;
  std::set<int> indices;
  for (const Worker* worker : newcomers.there) indices.insert(worker->index);
  const bool one = indices.size() == 1;
  found.sentence =
      absl::StrCat(NameWorkers(indices), one ? " is attached and joins" : " are attached and join",
                   " the next round");
  return found;
}

absl::Time NextTimeToJoin(const Draft& draft) {
  if (draft.plan.memory.phase != RoundPhase::kActive) return absl::InfiniteFuture();
  return TimeToJoin(draft, FindNewcomers(draft, MostToJoin(draft)));
}

}  // namespace muster::control
