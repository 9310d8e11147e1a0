#include "operator/core/ending/admission.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "operator/core/state/finalizer.h"

namespace muster::control {
namespace {

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
