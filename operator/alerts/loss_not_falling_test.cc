#include "operator/alerts/loss_not_falling.h"

#include <limits>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace muster::control {
namespace {

using ::testing::HasSubstr;
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

}  // namespace
}  // namespace muster::control
