#include "operator/core/state/finalizer.h"

#include <algorithm>

namespace muster::control {

bool HasFinalizer(const Draft& draft) {
  const auto& finalizers = draft.view.job.finalizers;
  return std::find(finalizers.begin(), finalizers.end(), kFinalizer) != finalizers.end();
}

}  // namespace muster::control
