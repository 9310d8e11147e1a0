#include "operator/core/round/round_health.h"

#include <optional>
#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "operator/core/ending/finish.h"
#include "operator/core/failure/failure_text.h"
#include "operator/core/leave/spot.h"
#include "operator/core/round/elastic.h"
#include "operator/core/round/hand_over.h"
#include "operator/core/state/break.h"
#include "operator/core/state/trajectory.h"
#include "operator/core/state/workers.h"

namespace muster::control {
namespace {

using v1alpha1::Member;

// A user's command may end with 0 on some ranks before others, which is no failure.
bool IsFailure(const Draft& draft, const ExitReport& exit) {
  return draft.spec().has_trainer() || exit.restarted || exit.exit_code != 0 || exit.signal != 0;
}

std::optional<Break> FindExit(const Draft& draft, RoundStamp id) {
  std::optional<Break> found;
  for (const AgentView& agent : draft.view.agents) {
    for (const ExitReport& exit : agent.exits) {
      if (exit.round != id || !IsFailure(draft, exit)) continue;
      if (!found) {
        found.emplace();
        found->reason = Reason::kRankFailed;
        found->sentence = DescribeRankExit(agent.index, exit);
      }
      found->failed.insert(agent.index);
    }
  }
  return found;
}

// Finds exits of an earlier round while there is still time to go on without those workers.
std::optional<Break> FindUnnamedExit(const Draft& draft) {
  if (draft.plan.memory.phase != RoundPhase::kPreparing) return std::nullopt;
  Break found;
  found.failed = FindUnnamed(draft);
  if (found.failed.empty() || !CanLeaveOut(draft, found.failed)) return std::nullopt;
  found.reason = Reason::kRankFailed;
  found.sentence = absl::StrCat("ranks ended on workers ", absl::StrJoin(found.failed, ", "),
                                ": the next round goes without these workers");
  found.same_failure = true;
  return found;
}

// A command that ended late in the round before must not be started in this one.
std::optional<Break> FindEndedMember(const Draft& draft) {
  if (draft.plan.memory.phase != RoundPhase::kPreparing) return std::nullopt;
  for (const Member& member : draft.plan.memory.members) {
    const Worker* worker = WorkerOf(draft, member);
    if (worker == nullptr || !worker->ended) continue;
    Break found;
    found.reason = Reason::kMembershipChanged;
    found.sentence = absl::StrCat("the command of worker ", worker->index,
                                  " has ended: the next round goes without that worker");
    return found;
  }
  return std::nullopt;
}

std::optional<Break> FindFinishedBadly(const Draft& draft, RoundStamp id) {
  for (const Worker& worker : draft.workers) {
    const AgentView* agent = worker.agent;
    if (agent == nullptr || !agent->finished || agent->finished->round != id) continue;
    if (HasReachedEnd(draft, worker, id)) continue;
    Break found;
    found.reason = Reason::kRankFailed;
    found.sentence = absl::StrCat("worker ", worker.index, " ended at step ",
                                  agent->finished->version.step(), " with exit code ",
                                  agent->finished->exit_code, ": ", agent->finished->message);
    found.failed.insert(worker.index);
    return found;
  }
  return std::nullopt;
}

std::optional<Break> FindLost(const Draft& draft, const RoundMemory& memory) {
  for (const Member& member : memory.members) {
    const Worker* worker = WorkerOf(draft, member);
    if (worker != nullptr &&
        (!IsLost(worker->presence) || HasReachedEnd(draft, *worker, memory.id))) {
      continue;
    }
    Break found;
    found.reason = Reason::kWorkerLost;
    found.sentence = absl::StrCat("worker ", member.worker().index(), " was lost");
    if (worker != nullptr && worker->presence == Presence::kSilent) {
      absl::StrAppend(&found.sentence, ": its agent has been silent for ",
                      absl::FormatDuration(draft.options.unknown_window));
    } else if (worker != nullptr && worker->pod != nullptr && !worker->pod->reason.empty()) {
      absl::StrAppend(&found.sentence, ": ", worker->pod->reason);
    }
    found.failed.insert(member.worker().index());
    // The others stalled for want of this worker, and said so first.
    found.same_failure =
        memory.phase == RoundPhase::kPreparing && memory.broken_reason == Reason::kRankStalled;
    return found;
  }
  return std::nullopt;
}

std::optional<Break> FindStall(const Draft& draft, RoundStamp id) {
  for (const AgentView& agent : draft.view.agents) {
    for (const StallReport& stall : agent.stalls) {
      if (stall.round != id) continue;
      Break found;
      found.reason = Reason::kRankStalled;
      found.sentence =
          absl::StrCat("local rank ", stall.local_rank, " of worker ", agent.index,
                       " is stalled at step ", stall.version.step(), ": ", stall.error);
      return found;
    }
  }
  return std::nullopt;
}

// These ranks must not train beside the others. An agent that does not report its spec is too old
// to take one in an order, so its pod is recreated.
void NameOtherSpec(const Draft& draft, const AgentView& agent, Break& found) {
  const std::string& theirs = agent.joined->trajectory;
  const std::string& ours = draft.plan.memory.trajectory;
  if (!theirs.empty()) {
    found.sentence = absl::StrCat("worker ", agent.index, " trains by spec ", theirs,
                                  ", but the round trains by spec ", ours);
    return;
  }
  found.sentence = absl::StrCat("worker ", agent.index,
                                " does not report the spec that it trains by; the round trains by "
                                "spec ",
                                ours);
  found.late.insert(agent.index);
}

// The ranks keep states that differ, so that the job waits for its owner's word. Other ranks of the
// round may have said less: that the round broke.
std::optional<Break> FindUndecided(const Draft& draft, RoundStamp id) {
  for (const Worker& worker : draft.workers) {
    const AgentView* agent = worker.agent;
    if (agent == nullptr || !agent->joined || agent->joined->round != id) continue;
    if (!agent->joined->undecided) continue;
    Break found;
    found.reason = Reason::kStatesDiffer;
    found.sentence = agent->joined->error;
    found.asks = true;
    return found;
  }
  return std::nullopt;
}

std::optional<Break> FindJoinError(const Draft& draft, RoundStamp id) {
  for (const Worker& worker : draft.workers) {
    const AgentView* agent = worker.agent;
    if (agent == nullptr || !agent->joined || agent->joined->round != id) continue;
    const bool same_spec = agent->joined->trajectory == draft.plan.memory.trajectory;
    if (agent->joined->error.empty() && same_spec) continue;
    Break found;
    found.reason = Reason::kJoinFailed;
    if (agent->joined->error.empty()) {
      NameOtherSpec(draft, *agent, found);
      return found;
    }
    found.sentence =
        absl::StrCat("worker ", worker.index, " could not join: ", agent->joined->error);
    found.bad_checkpoint = agent->joined->bad_checkpoint;
    return found;
  }
  return std::nullopt;
}

std::optional<Break> FindUnsaved(const Draft& draft) {
  if (!IsUnsaved(draft)) return std::nullopt;
  Break found;
  found.reason = Reason::kLastStepNotSaved;
  found.sentence = absl::StrCat(WhyUnsaved(draft), "; the save is tried again");
  return found;
}

// Finds a change, since the round was opened, of the fields on which the ranks must agree. A round
// that was recorded without a digest goes on as it is.
std::optional<Break> FindOtherSpec(const Draft& draft) {
  const RoundMemory& memory = draft.plan.memory;
  if (memory.trajectory.empty() || memory.stop.since) return std::nullopt;
  if (memory.trajectory == TrajectoryDigest(draft.spec())) return std::nullopt;
  Break found;
  found.reason = Reason::kSpecChanged;
  found.sentence =
      absl::StrCat("the spec has changed since round ", memory.id.round,
                   " was opened: all ranks train by the new spec from the next round on");
  return found;
}

// Finds an agent that came back on a new stream while its ranks are not in the Active round.
std::optional<Break> FindLeftBehind(const Draft& draft, const RoundMemory& memory) {
  if (memory.phase != RoundPhase::kActive) return std::nullopt;
  for (const Member& member : memory.members) {
    const Worker* worker = WorkerOf(draft, member);
    if (worker == nullptr || worker->presence != Presence::kPresent) continue;
    const auto sent = memory.sent_session.find(worker->index);
    if (sent == memory.sent_session.end() || sent->second == worker->agent->session) continue;
    if (worker->agent->active == memory.id || HasReachedEnd(draft, *worker, memory.id)) continue;
    Break found;
    found.reason = Reason::kRankStalled;
    found.sentence = absl::StrCat("the agent of worker ", worker->index,
                                  " came back, but its ranks are not in the round");
    return found;
  }
  return std::nullopt;
}

std::optional<Break> FindLate(const Draft& draft, const RoundMemory& memory) {
  const bool preparing = memory.phase == RoundPhase::kPreparing;
  if (!preparing && memory.phase != RoundPhase::kJoining) return std::nullopt;
  const absl::Duration deadline =
      preparing ? draft.options.prepare_deadline : draft.options.join_deadline;
  if (draft.view.now < memory.phase_since + deadline) return std::nullopt;
  Break found;
  found.reason = Reason::kWorkerMissedDeadline;
  for (const Member& member : memory.members) {
    const int index = member.worker().index();
    const bool done = preparing ? memory.ready.count(index) > 0 : memory.joined.count(index) > 0;
    if (!done) found.late.insert(index);
  }
  if (found.late.empty()) return std::nullopt;
  found.sentence =
      absl::StrCat("workers ", absl::StrJoin(found.late, ", "), " did not ",
                   preparing ? "get ready" : "join", " within ", absl::FormatDuration(deadline));
  found.failed = found.late;
  // If all are late, no worker in particular is at fault, and their state is worth more than fresh
  // pods.
  if (found.late.size() == memory.members.size()) found.late.clear();
  return found;
}

}  // namespace

std::optional<Break> FindBreak(const Draft& draft) {
  const RoundMemory& memory = draft.plan.memory;
  if (memory.failure.restart_job && !memory.failure.fresh) {
    Break found;
    found.reason = Reason::kJobRestarting;
    found.sentence = memory.failure.restart_sentence.empty()
                         ? "a failurePolicy rule with action RestartJob matched a failure"
                         : memory.failure.restart_sentence;
    return found;
  }
  if (auto found = FindExit(draft, memory.id)) return found;
  if (auto found = FindUnnamedExit(draft)) return found;
  if (auto found = FindEndedMember(draft)) return found;
  if (auto found = FindOtherSpec(draft)) return found;
  if (auto found = FindFinishedBadly(draft, memory.id)) return found;
  if (auto found = FindLeaving(draft)) return found;
  if (auto found = FindLost(draft, memory)) return found;
  if (auto found = FindUnsaved(draft)) return found;
  if (auto found = FindUndecided(draft, memory.id)) return found;
  if (auto found = FindJoinError(draft, memory.id)) return found;
  if (auto found = FindStall(draft, memory.id)) return found;
  if (auto found = FindLeftBehind(draft, memory)) return found;
  if (auto found = FindLate(draft, memory)) return found;
  return MayChangeMembersNow(draft) ? FindOtherMembers(draft) : std::nullopt;
}

std::set<int> FindUnnamed(const Draft& draft) {
  const RoundMemory& memory = draft.plan.memory;
  std::set<int> unnamed;
  if (memory.failure.restart_job) return unnamed;  // every rank starts anew
  for (const Member& member : memory.members) {
    const Worker* worker = WorkerOf(draft, member);
    if (worker == nullptr || worker->agent == nullptr) continue;
    const WorkerMemory* known = FindWorkerMemory(memory, worker->index);
    if (known != nullptr && known->named) continue;
    for (const ExitReport& exit : worker->agent->exits) {
      if (exit.round.round < memory.active_round || !IsFailure(draft, exit)) continue;
      unnamed.insert(worker->index);
    }
  }
  return unnamed;
}

}  // namespace muster::control
