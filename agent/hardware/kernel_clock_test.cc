#include "agent/hardware/kernel_clock.h"

#include "gtest/gtest.h"

namespace muster::agent {
namespace {

TEST(KernelClockTest, ThisMachinesClockHasABoundOrCannotBeAsked) {
  const std::optional<ClockReading> clock = ReadKernelClock();
  if (!clock.has_value()) GTEST_SKIP() << "adjtimex is not allowed here";
  EXPECT_GE(clock->max_error_seconds, 0);
  // The kernel itself calls a clock unsynchronized whose error may be 16 s or more.
  if (clock->synchronized) EXPECT_LT(clock->max_error_seconds, 16);
}

}  // namespace
}  // namespace muster::agent
