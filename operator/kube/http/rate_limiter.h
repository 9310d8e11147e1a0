#ifndef MUSTER_OPERATOR_KUBE_HTTP_RATE_LIMITER_H_
#define MUSTER_OPERATOR_KUBE_HTTP_RATE_LIMITER_H_

#include "absl/time/time.h"
#include "base/mutex.h"

namespace muster::kube {

// A token bucket: `burst` tokens at once, `per_second` on average. A token may be taken before it
// is available, so that waiters proceed in the order in which they came. Thread-safe.
class RateLimiter {
 public:
  // There is no limit if per_second <= 0.
  RateLimiter(double per_second, int burst) : per_second_(per_second), burst_(burst) {}

  // Takes one token and returns how long to wait before using it. If that is more than `longest`,
  // returns the same but takes no token.
  absl::Duration Take(absl::Time now, absl::Duration longest) {
    if (per_second_ <= 0) return absl::ZeroDuration();
    MutexLock lock(mu_);
    if (now > filled_at_) {
      const double gained = absl::ToDoubleSeconds(now - filled_at_) * per_second_;
      tokens_ = started_ ? tokens_ + gained : burst_;
      if (tokens_ > burst_) tokens_ = burst_;
      filled_at_ = now;
      started_ = true;
    }
    const double missing = 1 - tokens_;
    const absl::Duration wait =
        missing <= 0 ? absl::ZeroDuration() : absl::Seconds(missing / per_second_);
    if (wait <= longest) tokens_ -= 1;
    return wait;
  }

 private:
  const double per_second_;
  const double burst_;
  Mutex mu_;
  bool started_ MUSTER_GUARDED_BY(mu_) = false;
  double tokens_ MUSTER_GUARDED_BY(mu_) = 0;
  absl::Time filled_at_ MUSTER_GUARDED_BY(mu_) = absl::InfinitePast();
};

}  // namespace muster::kube

#endif  // MUSTER_OPERATOR_KUBE_HTTP_RATE_LIMITER_H_
