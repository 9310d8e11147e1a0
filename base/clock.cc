#include "base/clock.h"

#include <time.h>

#include <chrono>

#include "absl/time/clock.h"

namespace muster {
namespace {

class RealClock final : public Clock {
 public:
  absl::Time Monotonic() const override {
    const auto since_start = std::chrono::steady_clock::now().time_since_epoch();
    return absl::UnixEpoch() + absl::FromChrono(since_start);
  }
  absl::Time Wall() const override { return absl::Now(); }
};

class BootClock final : public Clock {
 public:
  absl::Time Monotonic() const override {
    timespec since_boot;
    ::clock_gettime(CLOCK_BOOTTIME, &since_boot);
    return absl::TimeFromTimespec(since_boot);
  }
  absl::Time Wall() const override { return absl::Now(); }
};

}  // namespace

const Clock& Clock::Boot() {
  static const BootClock* clock = new BootClock;
  return *clock;
}

const Clock& Clock::Real() {
  static const RealClock* clock = new RealClock;
  return *clock;
}

}  // namespace muster
