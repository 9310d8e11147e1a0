#include "trainer/optim/schedule.h"

#include "gtest/gtest.h"

namespace muster::trainer {
namespace {

TEST(ScheduleTest, WarmsUpLinearlyToThePeak) {
  const Schedule s{.rate = &CosineRate, .peak = 1.0, .warmup_steps = 4, .steps = 104};
  EXPECT_DOUBLE_EQ(s.At(1), 0.25);
  EXPECT_DOUBLE_EQ(s.At(4), 1.0);
  EXPECT_LT(s.At(5), 1.0);
}

TEST(ScheduleTest, CosineHalvesHalfwayAndEndsAtTheFinalFraction) {
  const Schedule s{
      .rate = &CosineRate, .peak = 2.0, .warmup_steps = 0, .steps = 100, .final_fraction = 0.1};
  EXPECT_DOUBLE_EQ(s.At(50), 2.0 * 0.55);
  EXPECT_DOUBLE_EQ(s.At(100), 0.2);
  EXPECT_DOUBLE_EQ(s.At(1000), 0.2);
}

TEST(ScheduleTest, LinearFallsToTheFinalFractionAndConstantStays) {
  Schedule s{.rate = &LinearRate, .peak = 1.0, .warmup_steps = 10, .steps = 20};
  EXPECT_DOUBLE_EQ(s.At(15), 0.5);
  EXPECT_DOUBLE_EQ(s.At(20), 0.0);
  s.rate = &ConstantRate;
  EXPECT_DOUBLE_EQ(s.At(20), 1.0);
}

TEST(ScheduleTest, WsdStaysAtThePeakUntilItsLastSteps) {
  Schedule s{.rate = &WsdRate,
             .peak = 2.0,
             .warmup_steps = 10,
             .steps = 100,
             .final_fraction = 0.1,
             .decay_steps = 20};
  EXPECT_DOUBLE_EQ(s.At(5), 1.0);
  EXPECT_DOUBLE_EQ(s.At(11), 2.0);
  EXPECT_DOUBLE_EQ(s.At(80), 2.0);
  EXPECT_DOUBLE_EQ(s.At(81), 2.0 * (0.1 + 0.9 * 19 / 20));
  EXPECT_DOUBLE_EQ(s.At(90), 2.0 * 0.55);
  EXPECT_DOUBLE_EQ(s.At(100), 0.2);
  EXPECT_DOUBLE_EQ(s.At(1000), 0.2);
  s.decay_steps = 1000;
  EXPECT_DOUBLE_EQ(s.At(55), 2.0 * 0.55);
}

TEST(ScheduleTest, InverseSqrtFallsWithTheRootOfTheStepFromTheWarmUpOn) {
  Schedule s{.rate = &InverseSqrtRate, .peak = 2.0, .warmup_steps = 100, .steps = 1000};
  EXPECT_DOUBLE_EQ(s.At(50), 1.0);
  EXPECT_DOUBLE_EQ(s.At(100), 2.0);
  EXPECT_DOUBLE_EQ(s.At(400), 1.0);
  EXPECT_DOUBLE_EQ(s.At(2500), 0.4);
  s.warmup_steps = 0;
  EXPECT_DOUBLE_EQ(s.At(1), 2.0);
  EXPECT_DOUBLE_EQ(s.At(4), 1.0);
}

}  // namespace
}  // namespace muster::trainer
