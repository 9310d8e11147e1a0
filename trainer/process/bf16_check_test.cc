#include "trainer/process/bf16_check.h"

#include <cmath>

#include "base/clock.h"
#include "gtest/gtest.h"

namespace muster::trainer {
namespace {

TEST(Bf16CheckTest, WarnsWithTheFactorWhereBf16IsSlow) {
  EXPECT_EQ(SlowBf16({.fp32 = 0.001, .bf16 = 0.009}),
            "this CPU has no fast bfloat16: a matrix product takes 9.0 times as long as in fp32; "
            "train with precision fp32 on it");
  EXPECT_TRUE(SlowBf16({.fp32 = 1.0, .bf16 = 2.1}).has_value());
}

TEST(Bf16CheckTest, DoesNotWarnWhereBf16IsFast) {
  EXPECT_EQ(SlowBf16({.fp32 = 0.001, .bf16 = 0.0005}), std::nullopt);
  EXPECT_EQ(SlowBf16({.fp32 = 0.001, .bf16 = 0.002}), std::nullopt);
  EXPECT_EQ(SlowBf16({.fp32 = 0.0, .bf16 = 0.001}), std::nullopt) << "the clock did not tick";
  EXPECT_EQ(SlowBf16({.fp32 = NAN, .bf16 = NAN}), std::nullopt);
}

TEST(Bf16CheckTest, MeasuresBothPrecisions) {
  const absl::StatusOr<ProductTimes> times = MeasureProducts(Clock::Real());
  ASSERT_TRUE(times.ok()) << times.status();
  EXPECT_TRUE(std::isfinite(times->fp32) && times->fp32 > 0.0) << times->fp32;
  EXPECT_TRUE(std::isfinite(times->bf16) && times->bf16 > 0.0) << times->bf16;
}

}  // namespace
}  // namespace muster::trainer
