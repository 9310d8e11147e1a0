#include "operator/core/round/suspend.h"

#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "operator/core/ending/unsaved.h"
#include "operator/core/round/stop_gang.h"
#include "operator/core/state/progress.h"

namespace muster::control {
namespace {

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
