#include "operator/core/suspend.h"

#include "absl/strings/str_cat.h"
#include "operator/core/stop_gang.h"

namespace muster::control {
namespace {

void Stop(Draft& draft) {
  draft.Condition(ConditionType::kSuspended, false, Reason::kSuspendRequested,
                  "the workers save a checkpoint and stop");
  StopGang(draft, "the job is suspended");
  draft.SetReason(Reason::kSuspendRequested,
                  absl::StrCat(draft.view.pods.size(), " pods are left"));
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
  if (!IsTrue(draft.view.status, ConditionType::kSuspended)) {
    draft.EmitNormal(Reason::kWorkersStopped, "the job is suspended; its checkpoints are kept");
  }
  draft.Condition(ConditionType::kSuspended, true, Reason::kWorkersStopped,
                  "no worker runs; the checkpoints are kept");
  draft.SetReason(Reason::kWorkersStopped, "the job is suspended");
  if (!wanted) draft.RequeueAt(draft.view.now);
}

}  // namespace muster::control
