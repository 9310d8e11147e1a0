#include "operator/core/ending/expiry.h"

#include "operator/core/ending/finish.h"

namespace muster::control {

void ExpireFinished(Draft& draft) {
  if (!IsFinished(draft.view.status)) return;
  draft.done = true;
  draft.SetReason(Reason::kNothingToDo, "the job has ended");
  StopFinished(draft);
  if (!draft.spec().has_ttl_seconds_after_finished()) return;
  const absl::Time ended = ParseWall(draft.view.status.completion_time());
  const absl::Time expires = ended + absl::Seconds(draft.spec().ttl_seconds_after_finished());
  if (draft.view.wall >= expires) {
    draft.plan.delete_job = true;
    draft.SetReason(Reason::kExpired, "ttlSecondsAfterFinished has passed");
  } else {
    draft.RequeueAt(draft.view.now + (expires - draft.view.wall));
  }
}

}  // namespace muster::control
