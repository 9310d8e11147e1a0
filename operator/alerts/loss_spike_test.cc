#include "operator/alerts/loss_spike.h"

#include <limits>
#include <vector>

#include "gtest/gtest.h"

namespace muster::control {
namespace {

using Change = Finding::Change;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
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

}  // namespace
}  // namespace muster::control
