#include "operator/reconcile/urgency.h"

namespace muster::control {

bool Urgency::held() const {
  MutexLock lock(mu_);
  return held_;
}

void Urgency::Add(int change) {
  MutexLock lock(mu_);
  const absl::Time now = clock_.Monotonic();
  if (urgent_ == 0) since_ = now;
  urgent_ += change;
  const bool hold = urgent_ > 0 && now - since_ < kPatience;
  if (hold == held_) return;
  held_ = hold;
  on_change_(hold);
}

}  // namespace muster::control
