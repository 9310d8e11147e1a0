#include "operator/alerts/alert_rules.h"

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace muster::control {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;
using Change = Finding::Change;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

TrainingHistory History(const std::vector<double>& losses) {
  TrainingHistory history;
  history.round = 1;
  int64_t step = 0;
  for (const double loss : losses) history.validations.push_back({step += 100, loss});
  return history;
}

TEST(LossNotFallingTest, FiresOnceTheNewestValidationsBroughtNoNewMinimum) {
  LossNotFallingMemory memory;
  EXPECT_EQ(CheckLossNotFalling(2, History({3, 2}), false, memory).change, Change::kNone);
  EXPECT_EQ(CheckLossNotFalling(2, History({3, 2, 2.5}), false, memory).change, Change::kNone);
  const Finding found = CheckLossNotFalling(2, History({3, 2, 2.5, 2}), false, memory);
  EXPECT_EQ(found.change, Change::kFires) << "an equal loss is no new minimum";
  EXPECT_EQ(found.sentence,
            "the newest 2 validations brought no new minimum of the validation loss: it is still "
            "2, and that of step 400 is 2");
}

TEST(LossNotFallingTest, NeedsAValidationBeforeThoseThatItJudges) {
  LossNotFallingMemory memory;
  EXPECT_EQ(CheckLossNotFalling(2, History({}), false, memory).change, Change::kNone);
  EXPECT_EQ(CheckLossNotFalling(2, History({2, 3}), false, memory).change, Change::kNone);
  TrainingHistory history = History({2, 3});
  history.best_before = 1.5;
  EXPECT_EQ(CheckLossNotFalling(2, history, false, memory).change, Change::kFires);
}

TEST(LossNotFallingTest, ALossThatIsNotFiniteIsNoNewMinimum) {
  LossNotFallingMemory memory;
  EXPECT_EQ(CheckLossNotFalling(2, History({3, kNan, kNan}), false, memory).change, Change::kFires);
  memory = {};
  EXPECT_EQ(CheckLossNotFalling(1, History({kNan, 3}), false, memory).change, Change::kNone);
  const Finding never = CheckLossNotFalling(2, History({kNan, kNan, kNan}), false, memory);
  EXPECT_EQ(never.change, Change::kFires);
  EXPECT_THAT(never.sentence, HasSubstr("none was finite before them"));
}

TEST(LossNotFallingTest, CeasesOnlyWithANewMinimum) {
  LossNotFallingMemory memory;
  ASSERT_EQ(CheckLossNotFalling(2, History({2, 3, 3}), false, memory).change, Change::kFires);
  EXPECT_EQ(CheckLossNotFalling(2, History({2, 3, 3, 2.1}), true, memory).change, Change::kNone);
  // The job went back to an older step: those validations are gone, and the trouble may come again.
  EXPECT_EQ(CheckLossNotFalling(2, History({2}), true, memory).change, Change::kNone);
  EXPECT_EQ(CheckLossNotFalling(2, History({}), true, memory).change, Change::kNone);
  const Finding over = CheckLossNotFalling(2, History({2, 1.5}), true, memory);
  EXPECT_EQ(over.change, Change::kResolves);
  EXPECT_EQ(over.sentence, "the validation of step 200 brought a new minimum, 1.5");
}

TEST(LossNotFallingTest, ANewLeaderMeasuresByTheMinimumThatItHasSeen) {
  LossNotFallingMemory memory;
  EXPECT_EQ(CheckLossNotFalling(2, History({}), true, memory).change, Change::kNone);
  EXPECT_EQ(CheckLossNotFalling(2, History({3}), true, memory).change, Change::kNone);
  EXPECT_EQ(CheckLossNotFalling(2, History({3, 3.1}), true, memory).change, Change::kNone);
  EXPECT_EQ(CheckLossNotFalling(2, History({3, 3.1, 2.9}), true, memory).change, Change::kResolves);
}

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Returns `count` steps with the loss 2.
TrainingHistory Calm(int count) {
  TrainingHistory history;
  history.round = 1;
  for (int i = 1; i <= count; ++i) history.steps.push_back({i, 2.0, 1, 0});
  return history;
}

void Add(TrainingHistory& history, double loss) {
  const int64_t step = static_cast<int64_t>(history.steps.size()) + 1;
  history.steps.push_back({step, loss, 1, 0});
}

TEST(LossSpikeTest, FiresAboveTheFactorAndNotAtIt) {
  TrainingHistory history = Calm(120);
  LossSpikeMemory memory;
  Add(history, 4);
  EXPECT_EQ(CheckLossSpike(2, history, 120, false, memory).change, Change::kNone);
  Add(history, 5);
  const Finding found = CheckLossSpike(2, history, 121, false, memory);
  EXPECT_EQ(found.change, Change::kFires);
  EXPECT_EQ(found.sentence,
            "the loss of step 122 is 5, 2.5 times the median of the 100 steps before it, 2");
}

TEST(LossSpikeTest, TooFewStepsAreNotCompared) {
  TrainingHistory history = Calm(static_cast<int>(kFewestSteps) - 1);
  LossSpikeMemory memory;
  Add(history, 100);
  EXPECT_EQ(CheckLossSpike(2, history, kFewestSteps - 1, false, memory).change, Change::kNone);
  Add(history, 100);
  EXPECT_EQ(CheckLossSpike(2, history, kFewestSteps, false, memory).change, Change::kFires);
}

TEST(LossSpikeTest, ALossThatIsNotFiniteIsASpikeFromTheFirstStepOn) {
  for (const double loss : {kNan, kInfinity, -kInfinity}) {
    TrainingHistory history = Calm(0);
    LossSpikeMemory memory;
    Add(history, loss);
    const Finding found = CheckLossSpike(2, history, 0, false, memory);
    EXPECT_EQ(found.change, Change::kFires);
    EXPECT_EQ(found.sentence, "the loss of step 1 is not finite");
  }
}

TEST(LossSpikeTest, LossesThatAreNotFiniteDoNotMoveTheMedian) {
  TrainingHistory history = Calm(60);
  for (int i = 0; i < 40; ++i) Add(history, kInfinity);
  LossSpikeMemory memory;
  Add(history, 5);
  EXPECT_EQ(CheckLossSpike(2, history, 100, false, memory).change, Change::kFires);
}

TEST(LossSpikeTest, StepsWithoutALossAreNoSpikes) {
  TrainingHistory history = Calm(0);
  for (int i = 1; i <= 50; ++i) history.steps.push_back({i, std::nullopt, 1, 0});
  LossSpikeMemory memory;
  EXPECT_EQ(CheckLossSpike(2, history, 0, false, memory).change, Change::kNone);
}

TEST(LossSpikeTest, AMedianThatIsNotPositiveIsNotComparedWith) {
  TrainingHistory history = Calm(0);
  for (int i = 0; i < 100; ++i) Add(history, -1);
  LossSpikeMemory memory;
  Add(history, 50);
  EXPECT_EQ(CheckLossSpike(2, history, 100, false, memory).change, Change::kNone);
}

TEST(LossSpikeTest, CeasesOnlyAfterEnoughCalmStepsInARow) {
  TrainingHistory history = Calm(100);
  LossSpikeMemory memory;
  Add(history, 9);
  ASSERT_EQ(CheckLossSpike(2, history, 100, false, memory).change, Change::kFires);
  size_t seen = history.steps.size();
  const auto look = [&] {
    const Finding found = CheckLossSpike(2, history, seen, true, memory);
    seen = history.steps.size();
    return found.change;
  };
  for (size_t i = 1; i < kCalmSteps; ++i) {
    Add(history, 2);
    ASSERT_EQ(look(), Change::kNone) << i;
  }
  Add(history, 9);
  EXPECT_EQ(look(), Change::kNone) << "a second spike";
  for (size_t i = 1; i < kCalmSteps; ++i) Add(history, 2);
  EXPECT_EQ(look(), Change::kNone);
  Add(history, 2);
  EXPECT_EQ(look(), Change::kResolves);
}

TEST(LossSpikeTest, ASpikeAmongManyNewStepsIsToldThoughItIsOver) {
  TrainingHistory history = Calm(100);
  Add(history, 9);
  for (int i = 0; i < 500; ++i) Add(history, 2);
  LossSpikeMemory memory;
  EXPECT_EQ(CheckLossSpike(2, history, 0, false, memory).change, Change::kFires);
  EXPECT_EQ(CheckLossSpike(2, history, history.steps.size(), true, memory).change,
            Change::kResolves);
}

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

const absl::Time kStart = absl::FromUnixSeconds(1000);
constexpr absl::Duration kHold = absl::Minutes(10);

TEST(StalledTest, FiresWhenTheNewestStepIsOldEnough) {
  StalledView view{kStart + absl::Minutes(12), kStart, kStart + absl::Minutes(3), false};
  const StalledFinding early = CheckStalled(kHold, view, false);
  EXPECT_EQ(early.finding.change, Change::kNone);
  EXPECT_EQ(early.due, kStart + absl::Minutes(13));
  view.now = early.due;
  const StalledFinding found = CheckStalled(kHold, view, false);
  EXPECT_EQ(found.finding.change, Change::kFires);
  EXPECT_EQ(found.finding.sentence, "no step was reported for 10m");
}

TEST(StalledTest, AJobThatNeverStepsCountsFromTheTimeAtWhichItBeganToRun) {
  const StalledView view{kStart + kHold, kStart, kStart - absl::Hours(3), false};
  const StalledFinding found = CheckStalled(kHold, view, false);
  EXPECT_EQ(found.finding.change, Change::kFires);
  EXPECT_EQ(found.finding.sentence, "no step was reported for 10m");
}

TEST(StalledTest, AJobThatDoesNotRunIsNotStalled) {
  StalledView view{kStart + absl::Hours(5)};
  view.stepped_at = kStart;
  const StalledFinding found = CheckStalled(kHold, view, false);
  EXPECT_EQ(found.finding.change, Change::kNone);
  EXPECT_EQ(found.due, absl::InfiniteFuture());
}

TEST(StalledTest, CeasesWithTheNextStepOnly) {
  StalledView view{kStart + absl::Hours(5)};
  EXPECT_EQ(CheckStalled(kHold, view, true).finding.change, Change::kNone) << "it broke";
  view.running_since = view.now;
  EXPECT_EQ(CheckStalled(kHold, view, true).finding.change, Change::kNone) << "it runs again";
  view.has_new_step = true;
  EXPECT_EQ(CheckStalled(kHold, view, true).finding.change, Change::kResolves);
}

}  // namespace
}  // namespace muster::control
