#include "operator/coordinator/progress/slowest_rank.h"

#include "gtest/gtest.h"

namespace muster::control {
namespace {

v1alpha1::StepReport Step(int second, int slowest, double mean = 1.0, double longest = 1.5) {
  v1alpha1::StepReport step;
  step.set_finished_at_us((int64_t{1000} + second) * 1'000'000);
  step.set_slowest_rank(slowest);
  step.set_mean_busy_seconds(mean);
  step.set_longest_busy_seconds(longest);
  return step;
}

TEST(SlowestRankTest, AWholeWindowNamesTheRankThatWasTheBusiestMostOften) {
  SlowestRankCounter counter;
  for (int second = 0; second < 300; ++second)
    counter.Add(1, Step(second, second % 10 == 0 ? 0 : 3));
  EXPECT_FALSE(counter.last().has_value()) << "the window is not over";
  counter.Add(1, Step(300, 3));
  ASSERT_TRUE(counter.last().has_value());
  EXPECT_EQ(counter.last()->round, 1);
  EXPECT_EQ(counter.last()->rank, 3);
  EXPECT_EQ(counter.last()->steps, 301);
  EXPECT_NEAR(counter.last()->share, 0.9, 0.01);
  EXPECT_DOUBLE_EQ(counter.last()->factor, 1.5);
  EXPECT_DOUBLE_EQ(counter.last()->busy, 1.0);
}

TEST(SlowestRankTest, TheTimeInWhichRanksWereNotBusyIsThatInWhichTheyWaitedForEachOther) {
  SlowestRankCounter counter;
  for (int second = 0; second <= 300; ++second) counter.Add(1, Step(second, 3, 0.4, 0.5));
  ASSERT_TRUE(counter.last().has_value());
  EXPECT_NEAR(counter.last()->busy, 0.4, 1e-12);
}

TEST(SlowestRankTest, ANewRoundForgetsTheRanksOfTheOldOne) {
  SlowestRankCounter counter;
  for (int second = 0; second <= 300; ++second) counter.Add(1, Step(second, 3));
  counter.Add(2, Step(301, 1));
  EXPECT_FALSE(counter.last().has_value());
}

TEST(SlowestRankTest, TheNextWindowReplacesTheLast) {
  SlowestRankCounter counter;
  for (int second = 0; second <= 300; ++second) counter.Add(1, Step(second, 3));
  for (int second = 301; second <= 601; ++second) counter.Add(1, Step(second, 1, 1.0, 1.1));
  ASSERT_TRUE(counter.last().has_value());
  EXPECT_EQ(counter.last()->rank, 1);
  EXPECT_DOUBLE_EQ(counter.last()->share, 1.0);
  EXPECT_NEAR(counter.last()->factor, 1.1, 1e-12);
}

TEST(SlowestRankTest, RanksThatDoNotSayHowLongTheyWereBusyNameNobody) {
  SlowestRankCounter counter;
  for (int second = 0; second <= 700; ++second) counter.Add(1, Step(second, 0, 0.0, 0.0));
  EXPECT_FALSE(counter.last().has_value());
}

TEST(SlowestRankTest, AClockThatIsSetBackBeginsAnotherWindow) {
  SlowestRankCounter counter;
  for (int second = 0; second < 200; ++second) counter.Add(1, Step(second, 3));
  for (int second = -500; second < -201; ++second) counter.Add(1, Step(second, 1));
  EXPECT_FALSE(counter.last().has_value());
  counter.Add(1, Step(-200, 1));
  ASSERT_TRUE(counter.last().has_value());
  EXPECT_EQ(counter.last()->steps, 300 + 1 - 1);
  EXPECT_EQ(counter.last()->rank, 1);
}

}  // namespace
}  // namespace muster::control
