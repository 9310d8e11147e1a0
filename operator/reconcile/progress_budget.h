#ifndef MUSTER_OPERATOR_RECONCILE_PROGRESS_BUDGET_H_
#define MUSTER_OPERATOR_RECONCILE_PROGRESS_BUDGET_H_

#include "absl/time/time.h"
#include "base/mutex.h"

namespace muster::control {

// Bounds the status writes that carry progress only, over all jobs: a token bucket from which a job
// reserves its turn, so that a thousand jobs wait in line instead of asking again and again. Times
// are Monotonic. Thread-safe.
class ProgressBudget {
 public:
  static constexpr int kBurst = 20;
  static constexpr absl::Duration kInterval = absl::Milliseconds(50);  // 20 per second

  // Returns when the caller may write: `now`, or its turn in the line.
  absl::Time Reserve(absl::Time now);

 private:
  Mutex mu_;
  // The time until which reserved writes use up the bucket; in the past if there is credit.
  absl::Time paid_until_ MUSTER_GUARDED_BY(mu_) = absl::InfinitePast();
};

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_RECONCILE_PROGRESS_BUDGET_H_
