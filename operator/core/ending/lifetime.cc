#include "operator/core/ending/lifetime.h"

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "operator/core/ending/finish.h"

namespace muster::control {
namespace {

bool HasFinalizer(const Draft& draft) {
  const auto& finalizers = draft.view.job.finalizers;
  return std::find(finalizers.begin(), finalizers.end(), kFinalizer) != finalizers.end();
}

// Accepts a valid spec, perhaps without a change that came too late.
void AcceptSpec(Draft& draft) {
  const std::string& refused = draft.view.refused_change;
  if (refused.empty()) {
    return draft.Condition(ConditionType::kAdmitted, true, Reason::kAccepted, "the spec is valid");
  }
  const v1alpha1::Condition* shown = FindCondition(draft.status(), ConditionType::kAdmitted);
  if (shown == nullptr || shown->message() != refused) {
    draft.EmitWarning(Reason::kSpecChangeRefused, refused);
  }
  draft.Condition(ConditionType::kAdmitted, true, Reason::kSpecChangeRefused, refused);
}

}  // namespace

void HandleDeletion(Draft& draft) {
  if (!draft.view.job.deleting) return;
  draft.done = true;
  draft.SetReason(Reason::kDeleting, absl::StrCat(draft.view.pods.size(), " pods are left"));
  for (const PodView& pod : draft.view.pods) draft.Delete(pod, "the job is deleted");
  if (draft.view.pods.empty() && HasFinalizer(draft)) {
    draft.plan.remove_finalizers.push_back(kFinalizer);
  }
}

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

void Admit(Draft& draft) {
  v1alpha1::TrainingJobStatus& status = draft.status();
  status.set_observed_generation(draft.view.job.generation);
  if (!draft.view.spec_errors.empty()) {
    const std::string errors = absl::StrJoin(draft.view.spec_errors, "; ");
    const v1alpha1::Condition* shown = FindCondition(status, ConditionType::kAdmitted);
    if (shown == nullptr || shown->status() != "False") {
      draft.EmitWarning(Reason::kInvalidSpec, errors);
    }
    draft.Condition(ConditionType::kAdmitted, false, Reason::kInvalidSpec, errors);
    draft.SetReason(Reason::kInvalidSpec, errors);
    draft.done = true;
    return;
  }
  AcceptSpec(draft);
  if (!HasFinalizer(draft)) draft.plan.add_finalizers.push_back(kFinalizer);
  if (!status.has_start_time()) status.set_start_time(FormatWall(draft.view.wall));
  status.set_selector(absl::StrCat("muster.dev/job=", draft.view.job.name));
  status.mutable_workers()->set_desired(draft.WorkersWanted());
}

}  // namespace muster::control
