#include "operator/alerts/throughput_drop.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace muster::control {
namespace {

using ::testing::StartsWith;
using Change = Finding::Change;

constexpr int64_t kSecond = 1'000'000;

// A job whose rule is looked at after every step of one second.
struct World {
  Change Step(int64_t tokens, int64_t took_us = kSecond) {
    now_us += took_us;
    history.steps = {{++step, 2.0, tokens, now_us}};
    const Finding found = CheckThroughputDrop(rule, history, 0, gap, firing, memory);
    gap = false;
    if (found.change != Change::kNone) {
      firing = found.change == Change::kFires;
      sentence = found.sentence;
    }
    return found.change;
  }
  // Returns the number of the step at which the rule changed; -1 if it did not within `steps`.
  int StepsUntilChange(int64_t tokens, int steps) {
    for (int i = 1; i <= steps; ++i) {
      if (Step(tokens) != Change::kNone) return i;
    }
    return -1;
  }

  ThroughputDropRule rule{0.7, absl::Minutes(2)};
  TrainingHistory history{
      .round = 1, .first_step = 1, .steps = {}, .validations = {}, .best_before = {}};
  ThroughputDropMemory memory;
  bool firing = false;
  bool gap = false;
  int64_t step = 0;
  int64_t now_us = 0;
  std::string sentence;
};

TEST(ThroughputDropTest, FiresWhenSlowForLongEnoughAndCeasesWhenFastForAsLong) {
  World world;
  EXPECT_EQ(world.StepsUntilChange(1000, 301), -1);
  EXPECT_EQ(world.StepsUntilChange(600, 1000), 120);
  EXPECT_TRUE(world.firing);
  EXPECT_EQ(world.sentence,
            "training is slow for 2m: 600 tokens per second up to step 421, and the best speed of "
            "the round is 1000");
  EXPECT_EQ(world.StepsUntilChange(1000, 1000), 120);
  EXPECT_FALSE(world.firing);
  EXPECT_THAT(world.sentence, StartsWith("training is fast again for 2m: 1000 tokens per second"));
}

TEST(ThroughputDropTest, TokensBeyondAnyCountWhileTheClockStandsStillDoNotOverflow) {
  World world;
  for (int i = 0; i < 2000; ++i) world.Step(int64_t{1} << 53, /*took_us=*/0);
  world.Step(1000, 30 * kSecond);
  EXPECT_GT(world.memory.best, 5e17);
}

TEST(ThroughputDropTest, AShortDropAndASpeedThatIsOnlyALittleLowerDoNotFire) {
  World world;
  EXPECT_EQ(world.StepsUntilChange(1000, 301), -1);
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(world.StepsUntilChange(100, 60), -1);
    EXPECT_EQ(world.StepsUntilChange(1000, 60), -1);
  }
  EXPECT_EQ(world.StepsUntilChange(750, 1000), -1);
}

TEST(ThroughputDropTest, ASpeedThatGoesUpAndDownDoesNotFlap) {
  World world;
  EXPECT_EQ(world.StepsUntilChange(1000, 301), -1);
  ASSERT_EQ(world.StepsUntilChange(500, 1000), 120);
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(world.StepsUntilChange(1000, 60), -1);
    EXPECT_EQ(world.StepsUntilChange(500, 60), -1);
  }
}

TEST(ThroughputDropTest, EachRoundIsMeasuredByItself) {
  World world;
  EXPECT_EQ(world.StepsUntilChange(1000, 301), -1);
  world.history.round = 2;  // half of the workers are lost
  EXPECT_EQ(world.StepsUntilChange(500, 1000), -1);
}

TEST(ThroughputDropTest, StepsThatWereNotSeenAreNoDrop) {
  World world;
  EXPECT_EQ(world.StepsUntilChange(1000, 301), -1);
  for (int i = 0; i < 20; ++i) {
    world.gap = true;
    EXPECT_EQ(world.Step(1000, 60 * kSecond), Change::kNone);
    EXPECT_EQ(world.StepsUntilChange(1000, 29), -1);
  }
}

TEST(ThroughputDropTest, AClockThatIsSetBackIsNoDrop) {
  World world;
  EXPECT_EQ(world.StepsUntilChange(1000, 301), -1);
  EXPECT_EQ(world.Step(1000, -3600 * kSecond), Change::kNone);
  EXPECT_EQ(world.StepsUntilChange(1000, 1000), -1);
}

TEST(ThroughputDropTest, ACommandThatReportsNoTokensNeverFires) {
  World world;
  EXPECT_EQ(world.StepsUntilChange(0, 2000), -1);
}

}  // namespace
}  // namespace muster::control
