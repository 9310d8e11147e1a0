#ifndef MUSTER_BASE_TESTING_MANUAL_CLOCK_H_
#define MUSTER_BASE_TESTING_MANUAL_CLOCK_H_

#include "absl/time/time.h"
#include "base/clock.h"
#include "base/mutex.h"

namespace muster {

// A clock that moves only on request: the virtual time of tests and simulations. Thread-safe.
class ManualClock final : public Clock {
 public:
  explicit ManualClock(absl::Time start = absl::FromUnixSeconds(1'700'000'000)) : now_(start) {}

  absl::Time Monotonic() const override {
    MutexLock lock(mu_);
    return now_;
  }
  absl::Time Wall() const override {
    MutexLock lock(mu_);
    return now_ + wall_step_;
  }

  // `by` must not be negative.
  void Advance(absl::Duration by) {
    MutexLock lock(mu_);
    now_ += by;
  }
  // Moves the wall clock alone, either way, as an administrator or NTP would.
  void StepWall(absl::Duration by) {
    MutexLock lock(mu_);
    wall_step_ += by;
  }

 private:
  mutable Mutex mu_;
  absl::Time now_ MUSTER_GUARDED_BY(mu_);
  absl::Duration wall_step_ MUSTER_GUARDED_BY(mu_);
};

}  // namespace muster

#endif  // MUSTER_BASE_TESTING_MANUAL_CLOCK_H_
