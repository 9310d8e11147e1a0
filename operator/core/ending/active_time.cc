#include "operator/core/ending/active_time.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "operator/core/ending/finish.h"
#include "operator/core/state/conditions.h"
#include "operator/core/state/spec_values.h"

namespace muster::control {
namespace {

bool HasNode(const Draft& draft) {
  return std::any_of(draft.view.pods.begin(), draft.view.pods.end(), [](const PodView& pod) {
    const bool over = pod.phase == PodPhase::kSucceeded || pod.phase == PodPhase::kFailed;
    return !pod.node.empty() && !over;
  });
}

bool Waits(const Draft& draft) {
  if (IsFinished(draft.plan.status)) return true;
  if (HasNode(draft)) return false;
  return draft.spec().suspend() || IsTrue(draft.plan.status, ConditionType::kPreempted) ||
         !draft.view.placement.reason.empty();
}

}  // namespace

absl::Duration ActiveFor(const v1alpha1::TrainingJobStatus& status, absl::Time wall) {
  const absl::Duration before = absl::Seconds(status.active_seconds());
  const absl::Time since = ParseWall(status.active_since());
  if (since == absl::InfinitePast()) return before;
  return before + std::max(absl::ZeroDuration(), wall - since);
}

void EnforceDeadline(Draft& draft) {
  const absl::Duration limit = ActiveDeadline(draft.spec());
  if (limit == absl::InfiniteDuration() || !draft.status().has_active_since()) return;
  const absl::Duration left = limit - ActiveFor(draft.status(), draft.view.wall);
  if (left > absl::ZeroDuration()) return draft.RequeueAt(draft.view.now + left);
  Fail(draft, Reason::kDeadlineExceeded,
       absl::StrCat("the job was active for longer than ", draft.spec().active_deadline()));
}

void KeepActiveTime(Draft& draft) {
  v1alpha1::TrainingJobStatus& status = draft.status();
  if (Waits(draft)) {
    if (!status.has_active_since()) return;
    status.set_active_seconds(absl::ToDoubleSeconds(ActiveFor(status, draft.view.wall)));
    return status.clear_active_since();
  }
  if (status.has_active_since() || draft.memory().phase == RoundPhase::kIdle) return;
  status.set_active_since(FormatWall(draft.view.wall));
  const absl::Duration left = ActiveDeadline(draft.spec()) - ActiveFor(status, draft.view.wall);
  if (left < absl::InfiniteDuration()) draft.RequeueAt(draft.view.now + left);
}

}  // namespace muster::control
