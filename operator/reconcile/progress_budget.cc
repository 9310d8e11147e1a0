#include "operator/reconcile/progress_budget.h"

#include <algorithm>

namespace muster::control {

absl::Time ProgressBudget::Reserve(absl::Time now) {
  MutexLock lock(mu_);
  paid_until_ = std::max(paid_until_, now - (kBurst - 1) * kInterval);
  const absl::Time turn = std::max(now, paid_until_);
  paid_until_ += kInterval;
  return turn;
}

}  // namespace muster::control
