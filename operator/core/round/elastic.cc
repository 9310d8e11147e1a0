#include "operator/core/round/elastic.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "operator/core/ending/ended.h"
#include "operator/core/failure/fence.h"
#include "operator/core/leave/spares.h"
#include "operator/core/leave/spot.h"
#include "operator/core/round/roster.h"
#include "operator/core/round/shard_fit.h"
#include "operator/core/state/growth_sizes.h"
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

// Returns true if a worker beyond workers.count can be in the next round, or still be in this one.
bool IsThere(const Draft& draft, const Worker* worker, const std::set<int>& members) {
  const RoundMemory& memory = draft.plan.memory;
  if (worker == nullptr || IsShrunk(memory, worker->index) || IsLeaving(memory, *worker)) {
    return false;
  }
  if (worker->presence == Presence::kUnknown) return members.count(worker->index) > 0;
  return worker->presence == Presence::kPresent && !NeedsReplacement(memory, worker->index);
}

// Returns how many workers the job is to train with now. Those beyond workers.count, for which no
// round waits, are in it in numbers that the layout allows, once all of such a number are there.
int SizeOfRound(const Draft& draft) {
  const int wanted = draft.WorkersWanted();
  const int count = WorkerCount(draft.spec());
  if (wanted <= count) return wanted;
  const std::set<int> members = MemberIndices(draft.plan.memory.members);
  int there = count;
  while (there < wanted && IsThere(draft, draft.FindWorker(there), members)) ++there;
  return std::max(count, LargestUpTo(LargerSizes(draft.spec()), there));
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
  if (too_few.empty() && HasShard(draft.spec())) FitToShard(draft, roster);
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
