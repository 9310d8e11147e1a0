#include "operator/core/round/suspend.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "operator/core/ending/finish.h"
#include "operator/core/resume/floor.h"
#include "operator/core/round/stop_gang.h"
#include "operator/core/state/progress.h"

namespace muster::control {
namespace {

// A worker that is there and has not finished the round.
bool MayStillSave(const Draft& draft) {
  const RoundMemory& memory = draft.plan.memory;
  return std::any_of(
      memory.members.begin(), memory.members.end(), [&](const v1alpha1::Member& member) {
        const Worker* worker = WorkerOf(draft, member);
        if (worker == nullptr || IsLost(worker->presence) || worker->agent == nullptr) return false;
        return !worker->agent->finished || worker->agent->finished->round != memory.id;
      });
}

// Returns true if all steps are trained and the last one is to be saved again, now or after a
// pause.
bool LastStepWaits(const Draft& draft) {
  const RoundMemory& memory = draft.plan.memory;
  const bool broken = memory.phase != RoundPhase::kActive;
  return IsUnsaved(draft) || (broken && memory.broken_reason == Reason::kLastStepNotSaved);
}

bool AnyMemberIsThere(const Draft& draft) {
  const auto& members = draft.plan.memory.members;
  return std::any_of(members.begin(), members.end(), [&](const v1alpha1::Member& member) {
    const Worker* worker = WorkerOf(draft, member);
    return worker != nullptr && !IsLost(worker->presence);
  });
}

// Describes the trained steps that no checkpoint has, and the error of the newest save if it
// failed, e.g. "steps 21 to 60 are not saved: ...". Returns nullopt if every step is saved, or if
// the job saves nothing.
std::optional<std::string> DescribeUnsaved(const Draft& draft) {
  if (!SavesState(draft.spec())) return std::nullopt;
  const int64_t saved = std::max<int64_t>(NewestCheckpoint(draft), 0);
  const auto& latest = draft.view.progress.latest;
  const int64_t trained =
      std::max(draft.plan.status.progress().step(), latest ? latest->version().step() : int64_t{0});
  if (trained <= saved) return std::nullopt;
  const auto& failed = draft.view.checkpoint.failed;
  const std::string steps =
      trained == saved + 1 ? absl::StrCat("step ", trained, " is not saved")
                           : absl::StrCat("steps ", saved + 1, " to ", trained, " are not saved");
  return absl::StrCat(steps, failed ? absl::StrCat(": ", failed->error()) : "");
}

// Returns true if a save of what the job would lose has failed, and workers are left to retry it.
bool WaitsForRoom(const Draft& draft) {
  if (!SavesState(draft.spec())) return false;
  const auto& failed = draft.view.checkpoint.failed;
  if (failed && failed->version().step() > NewestCheckpoint(draft) && MayStillSave(draft)) {
    return true;
  }
  return LastStepWaits(draft) && AnyMemberIsThere(draft);
}

void Stop(Draft& draft) {
  const std::optional<std::string> unsaved =
      WaitsForRoom(draft) ? DescribeUnsaved(draft) : std::nullopt;
  if (unsaved) {
    // The time for the stop begins anew when nothing is waited for any more.
    draft.memory().stop.since = draft.view.now;
    draft.Condition(ConditionType::kSuspended, false, Reason::kStepsNotSaved,
                    absl::StrCat(*unsaved, "; the stop waits until they can be saved"));
  } else {
    draft.Condition(ConditionType::kSuspended, false, Reason::kSuspendRequested,
                    "the workers save a checkpoint and stop");
  }
  StopGang(draft, "the job is suspended");
  draft.SetReason(Reason::kSuspendRequested,
                  absl::StrCat(draft.view.pods.size(), " pods are left"));
}

// Shows that no worker is left. What the first decision without workers has found stays, because
// the reports that it rests on may be gone with the next leader.
void ShowStopped(Draft& draft) {
  if (IsTrue(draft.view.status, ConditionType::kSuspended)) return;
  WriteProgress(draft);
  if (const std::optional<std::string> unsaved = DescribeUnsaved(draft)) {
    const std::string sentence = absl::StrCat("no worker runs; ", *unsaved);
    draft.EmitWarning(Reason::kStepsNotSaved, sentence);
    draft.Condition(ConditionType::kSuspended, true, Reason::kStepsNotSaved, sentence);
    return;
  }
  const absl::string_view kept = draft.plan.status.has_checkpoint() ? "the checkpoints are kept"
                                 : draft.spec().has_trainer()
                                     ? "there is no checkpoint, so it will begin anew"
                                     : "the command has reported no checkpoint";
  draft.EmitNormal(Reason::kWorkersStopped, absl::StrCat("the job is suspended; ", kept));
  draft.Condition(ConditionType::kSuspended, true, Reason::kWorkersStopped,
                  absl::StrCat("no worker runs; ", kept));
}

}  // namespace

void SuspendOrResume(Draft& draft) {
  RoundMemory& memory = draft.memory();
  const bool wanted = draft.spec().suspend();
  // A new leader finishes the stop that the last one began: workers that ended because of it have
  // not come to the end of their work.
  const bool begun = memory.stop.since || IsBeingSuspended(draft.view.status);
  if (!wanted && !begun) {
    if (!IsTrue(draft.view.status, ConditionType::kSuspended)) return;
    draft.Condition(ConditionType::kSuspended, false, Reason::kResumed, "the job goes on");
    draft.status().set_start_time(FormatWall(draft.view.wall));
    draft.EmitNormal(Reason::kResumed, "the job goes on");
    return;
  }
  draft.done = true;
  if (!draft.view.pods.empty()) return Stop(draft);
  EndStop(draft);
  ShowStopped(draft);
  draft.SetReason(Reason::kWorkersStopped, "the job is suspended");
  if (!wanted) draft.RequeueAt(draft.view.now);
}

}  // namespace muster::control
