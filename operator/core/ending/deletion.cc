#include "operator/core/ending/deletion.h"

#include "absl/strings/str_cat.h"
#include "operator/core/state/finalizer.h"

namespace muster::control {

void HandleDeletion(Draft& draft) {
  if (!draft.view.job.deleting) return;
  draft.done = true;
  draft.SetReason(Reason::kDeleting, absl::StrCat(draft.view.pods.size(), " pods are left"));
  for (const PodView& pod : draft.view.pods) draft.Delete(pod, "the job is deleted");
  if (draft.view.pods.empty() && HasFinalizer(draft)) {
    draft.plan.remove_finalizers.push_back(kFinalizer);
  }
}

}  // namespace muster::control
