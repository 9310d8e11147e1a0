#include "trainer/commit/spike_watch.h"

#include <vector>

#include "gtest/gtest.h"

namespace muster::trainer {
namespace {

// The median of 1 to 9 is 5, and that of the distances from it 2.
const std::vector<double> kOneToNine = {5, 1, 9, 2, 8, 3, 7, 4, 6};

TEST(IsSpikeTest, CountsDeviationsAboveTheMedian) {
  EXPECT_FALSE(IsSpike(kOneToNine, 5.0 + 3.0 * 1.4826 * 2.0 - 1e-9, 3.0));
  EXPECT_TRUE(IsSpike(kOneToNine, 5.0 + 3.0 * 1.4826 * 2.0 + 1e-9, 3.0));
  EXPECT_FALSE(IsSpike(kOneToNine, -1000.0, 3.0)) << "far below is no spike";
}

TEST(IsSpikeTest, OneOutlierMovesNeitherTheMedianNorTheDeviation) {
  std::vector<double> past = kOneToNine;
  past[2] = 1e9;
  EXPECT_TRUE(IsSpike(past, 14.0, 3.0));
}

TEST(IsSpikeTest, StepsThatAreAlmostAlikeAreJudgedByTwoPercent) {
  const std::vector<double> past(20, 4.0);
  EXPECT_FALSE(IsSpike(past, 4.0 + 10 * 0.08 - 1e-9, 10.0));
  EXPECT_TRUE(IsSpike(past, 4.0 + 10 * 0.08 + 1e-9, 10.0));
}

TEST(WhySpikeTest, TooFewStepsJudgeNothing) {
  WatchedSteps past;
  for (size_t i = 0; i < WatchedSteps::kLeast; ++i) {
    EXPECT_EQ(WhySpike(past, 1e9, 1e9, 10.0), "") << i;
    past.Add(2.0, 1.0);
  }
  EXPECT_NE(WhySpike(past, 1e9, 1e9, 10.0), "");
}

TEST(WhySpikeTest, SaysWhatIsFarAboveWithTheNumbers) {
  WatchedSteps past;
  for (int i = 0; i < 20; ++i) past.Add(2.0, 1.0);
  EXPECT_EQ(WhySpike(past, 2.1, 1.1, 10.0), "");
  EXPECT_EQ(WhySpike(past, 2.1, 1.39, 10.0), "") << "a norm has twice as far to go";
  EXPECT_EQ(WhySpike(past, 2.1, 1.41, 10.0),
            "gradient norm 1.41 is 20.5 deviations above 1, the median of 20 steps");
  EXPECT_EQ(WhySpike(past, 3.0, 1.1, 10.0),
            "loss 3 is 25 deviations above 2, the median of 20 steps");
  EXPECT_EQ(WhySpike(past, 3.0, 2.0, 10.0),
            "loss 3 is 25 deviations above 2, and gradient norm 2 is 50 deviations above 1, the "
            "median of 20 steps");
}

TEST(WatchedStepsTest, TheOldestAreForgotten) {
  WatchedSteps past;
  for (int i = 0; i < 100; ++i) past.Add(i, 2.0 * i);
  ASSERT_EQ(past.losses.size(), WatchedSteps::kMost);
  EXPECT_EQ(past.losses.front(), 36.0);
  EXPECT_EQ(past.norms.back(), 198.0);
}

}  // namespace
}  // namespace muster::trainer
