#include "operator/core/ending/finish.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/checkpoint/checkpoint_listing.h"
#include "base/object_store/object_uri.h"
#include "operator/core/ending/ended.h"
#include "operator/core/resume/floor.h"
#include "operator/core/state/progress.h"
#include "operator/core/state/spec_values.h"

namespace muster::control {
namespace {

void End(Draft& draft, ConditionType type, Reason reason, std::string sentence) {
  WriteProgress(draft);
  draft.Condition(type, true, reason, sentence);
  draft.status().set_completion_time(FormatWall(draft.view.wall));
  if (type == ConditionType::kFailed) {
    draft.EmitWarning(reason, sentence);
  } else {
    draft.EmitNormal(reason, sentence);
  }
  draft.SetReason(reason, std::move(sentence));
  StopFinished(draft);
  draft.done = true;
}

void SucceedAsCommand(Draft& draft) {
  Succeed(draft, LeaderDecidesSuccess(draft.spec())
                     ? "the command of worker 0 ended with exit code 0"
                     : "every worker's command ended with exit code 0");
}

}  // namespace

bool HasReachedEnd(const Draft& draft, const Worker& worker, RoundStamp id) {
  if (worker.ended) return true;
  if (worker.agent == nullptr || !worker.agent->finished) return false;
  const FinishedReport& finished = *worker.agent->finished;
  if (finished.round.round != id.round || !finished.succeeded) return false;
  const int64_t steps = TotalSteps(draft.spec());
  // A report without a version comes from the user's own command, or from a worker that had nothing
  // to report.
  if (steps == 0 || finished.version.step() == 0) return !draft.plan.memory.stop.since;
  return finished.version.step() >= steps;
}

namespace {

// Returns true if every member on which success depends came to its end.
bool HasReachedEnd(const Draft& draft) {
  const RoundMemory& memory = draft.plan.memory;
  if (memory.phase != RoundPhase::kActive || memory.members.empty()) return false;
  const bool leader_decides = LeaderDecidesSuccess(draft.spec());
  for (const v1alpha1::Member& member : memory.members) {
    if (leader_decides && member.worker().index() != 0) continue;
    const Worker* worker = WorkerOf(draft, member);
    if (worker == nullptr || !HasReachedEnd(draft, *worker, memory.id)) return false;
  }
  // Worker 0 cannot have come to its end if it is not in the round.
  return !leader_decides || memory.members.front().worker().index() == 0;
}

// Returns the attempt of the last step, which all members that came to their end have made.
int64_t LastAttempt(const Draft& draft) {
  int64_t last = 0;
  for (const v1alpha1::Member& member : draft.plan.memory.members) {
    const Worker* worker = draft.FindWorker(member.worker().index());
    if (worker == nullptr || worker->agent == nullptr || !worker->agent->finished) continue;
    const FinishedReport& finished = *worker->agent->finished;
    if (finished.round.round != draft.plan.memory.id.round) continue;
    last = std::max(last, finished.version.attempt());
  }
  return last;
}

// The round saved it, so its name follows from the round.
std::string LastCheckpointName(const Draft& draft, int64_t steps) {
  if (!IsObjectUri(draft.spec().checkpoint().uri())) return CheckpointName(steps);
  const RoundStamp& round = draft.plan.memory.id;
  return ObjectCheckpointName(steps, draft.view.job.uid, round.term, round.round);
}

// Records what the end of training proves. The reports of the last step and of its checkpoint may
// come later: an agent that attaches again first reports that its work is done.
void RecordLastStep(Draft& draft, int64_t steps) {
  v1alpha1::ProgressStatus& progress = *draft.status().mutable_progress();
  progress.set_step(steps);
  progress.set_steps(steps);
  if (!SavesState(draft.spec()) || draft.status().checkpoint().step() >= steps) return;
  v1alpha1::CheckpointStatus& checkpoint = *draft.status().mutable_checkpoint();
  checkpoint.set_step(steps);
  checkpoint.set_attempt(std::max(checkpoint.attempt(), LastAttempt(draft)));
  checkpoint.set_uri(CheckpointPath(draft.spec(), LastCheckpointName(draft, steps)));
  checkpoint.set_time(FormatWall(draft.view.wall));
}

// One member's report suffices, because only rank 0 completes a checkpoint.
bool IsDurable(const Draft& draft, int64_t step) {
  if (draft.plan.status.checkpoint().step() >= step) return true;
  for (const v1alpha1::Member& member : draft.plan.memory.members) {
    const Worker* worker = draft.FindWorker(member.worker().index());
    if (worker == nullptr || worker->agent == nullptr || !worker->agent->finished) continue;
    const FinishedReport& finished = *worker->agent->finished;
    if (finished.round.round == draft.plan.memory.id.round && finished.durable_step >= step) {
      return true;
    }
  }
  return false;
}

}  // namespace

bool IsUnsaved(const Draft& draft) {
  return SavesState(draft.spec()) && HasReachedEnd(draft) &&
         !IsDurable(draft, TotalSteps(draft.spec()));
}

std::string WhyUnsaved(const Draft& draft) {
  const auto& failed = draft.view.checkpoint.failed;
  return absl::StrCat("all ", TotalSteps(draft.spec()),
                      " steps are trained, but the last one is not saved",
                      failed ? absl::StrCat(": ", failed->error()) : "");
}

void FinishWhenDone(Draft& draft) {
  if (!draft.spec().has_trainer() && AllHaveEnded(draft)) return SucceedAsCommand(draft);
  if (!HasReachedEnd(draft)) return;
  if (IsUnsaved(draft)) {
    // Each attempt is a round of its own, and is counted and delayed like a round that fails.
    if (draft.memory().backoff.streak < MaxFailures(draft.spec())) return;
    return Fail(draft, Reason::kLastStepNotSaved, WhyUnsaved(draft));
  }
  const int64_t steps = TotalSteps(draft.spec());
  if (steps == 0) return SucceedAsCommand(draft);
  Succeed(draft, absl::StrCat("all ", steps, " steps are trained"));
  RecordLastStep(draft, steps);
}

void Succeed(Draft& draft, std::string sentence) {
  End(draft, ConditionType::kSucceeded, Reason::kTrainingFinished, std::move(sentence));
}

void Fail(Draft& draft, Reason reason, std::string sentence) {
  End(draft, ConditionType::kFailed, reason, std::move(sentence));
}

void StopFinished(Draft& draft) {
  RoundMemory& memory = draft.memory();
  if (!memory.stop.since) memory.stop.since = draft.view.now;
  const absl::Time deadline = *memory.stop.since + draft.options.stop_deadline;
  const v1alpha1::Condition* failed = FindCondition(draft.status(), ConditionType::kFailed);
  const bool save = failed != nullptr && failed->reason() == Name(Reason::kDeadlineExceeded);
  for (const Worker& worker : draft.workers) {
    if (worker.pod == nullptr) continue;
    // A pod whose containers have all ended is kept, with its logs. A kubelet reports the end of
    // the last container before that of the pod.
    if (WorkerHasEnded(*worker.pod) && worker.pod->others_left) {
      draft.Delete(*worker.pod, "the job has ended");
    }
    if (worker.presence == Presence::kGone) continue;
    const bool attached = worker.agent != nullptr && worker.agent->attached;
    if (attached && memory.stop.sent_session[worker.index] != worker.agent->session) {
      const RoundStamp stamp{draft.status().term(), draft.status().round()};
      draft.Send(worker, StopOrder{stamp, save, "the job has ended"});
      memory.stop.sent_session[worker.index] = worker.agent->session;
    }
    const bool never_ran = worker.pod->phase == PodPhase::kPending;
    if (never_ran || draft.view.now >= deadline) {
      draft.Delete(*worker.pod, "the job has ended");
    } else {
      draft.RequeueAt(deadline);
    }
  }
}

}  // namespace muster::control
