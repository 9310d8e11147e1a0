#include "operator/core/growth/growth_policy.h"

#include <limits>

#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace muster::control {
namespace {

using ::testing::HasSubstr;

const absl::Time kNow = absl::FromUnixSeconds(1000);

// A job of two of at most eight workers with eight micro-batches, which trains for another hour.
class GrowthPolicyTest : public testing::Test {
 protected:
  GrowthPolicyTest() {
    spec_.mutable_workers()->set_count(2);
    spec_.mutable_workers()->set_max(8);
    spec_.mutable_elastic()->set_policy("Grow");
    spec_.mutable_trainer()->mutable_train()->set_global_batch(8);
    spec_.mutable_trainer()->mutable_train()->set_micro_batch(1);
    view_.spec = &spec_;
    view_.size = 2;
    view_.training = true;
    view_.left = absl::Hours(1);
    view_.pause = absl::Seconds(10);
    view_.start_up = absl::Seconds(30);
  }

  GrowthReason Reason() const { return WishToGrow(kNow, view_).reason; }

  v1alpha1::TrainingJobSpec spec_;
  GrowthView view_;
};

TEST_F(GrowthPolicyTest, WantsEverySizeThatSavesMoreThanItCosts) {
  const GrowthWish wish = WishToGrow(kNow, view_);
  EXPECT_EQ(wish.least, 3);
  EXPECT_EQ(wish.wanted, 8);
  EXPECT_EQ(wish.reason, GrowthReason::kNoCapacity);
  EXPECT_THAT(wish.sentence, HasSubstr("would grow to 8 workers"));
}

// With 100 s left and 30 s to start workers, three workers save a quarter of 70 s, four a half, and
// eight three quarters. The threshold is 1.5 times two pauses.
TEST_F(GrowthPolicyTest, AShortRestPaysOnlyForALargeStep) {
  view_.left = absl::Seconds(100);
  EXPECT_EQ(WishToGrow(kNow, view_).least, 4);
  view_.pause = absl::Seconds(12);
  EXPECT_EQ(WishToGrow(kNow, view_).least, 8) << "35 s are less than 36 s";
  view_.pause = absl::Seconds(18);
  EXPECT_EQ(Reason(), GrowthReason::kGainTooSmall) << "52.5 s are less than 54 s";
  view_.pause = absl::Seconds(1);
  view_.left = absl::Seconds(30);
  EXPECT_EQ(Reason(), GrowthReason::kGainTooSmall) << "it ends before new workers have started";
}

TEST_F(GrowthPolicyTest, AWishHoldsWhileItStillPays) {
  view_.left = absl::Seconds(100);
  view_.pause = absl::Seconds(18);
  view_.least_before = view_.wanted_before = 8;
  EXPECT_EQ(WishToGrow(kNow, view_).wanted, 8) << "52.5 s are more than two pauses";
  view_.pause = absl::Seconds(27);
  EXPECT_EQ(Reason(), GrowthReason::kGainTooSmall);
}

TEST_F(GrowthPolicyTest, ASnoozedJobWantsNothingUntilItIsOver) {
  view_.snoozed_until = kNow + absl::Seconds(5);
  const GrowthWish wish = WishToGrow(kNow, view_);
  EXPECT_EQ(wish.reason, GrowthReason::kSnoozed);
  EXPECT_EQ(wish.wanted, 0);
  EXPECT_EQ(wish.recheck, kNow + absl::Seconds(5));
  EXPECT_EQ(WishToGrow(view_.snoozed_until, view_).reason, GrowthReason::kNoCapacity);
}

TEST_F(GrowthPolicyTest, ASpeedThatIsNoNumberIsNotKnown) {
  view_.left = absl::ZeroDuration();
  EXPECT_EQ(Reason(), GrowthReason::kMeasuringSpeed);
  view_.left = absl::Seconds(std::numeric_limits<double>::quiet_NaN());
  EXPECT_EQ(Reason(), GrowthReason::kMeasuringSpeed);
  view_.left = absl::InfiniteDuration();
  EXPECT_EQ(Reason(), GrowthReason::kMeasuringSpeed);
}

// With 100 s left and 30 s to start workers, three workers save a third of 70 s, and four a half.
TEST_F(GrowthPolicyTest, ACommandIsTakenToDivideItsWorkEvenly) {
  spec_.clear_trainer();
  view_.left = absl::Seconds(100);
  EXPECT_EQ(WishToGrow(kNow, view_).least, 4) << "23.3 s are less than 30 s, and 35 s are more";
  EXPECT_EQ(WishToGrow(kNow, view_).wanted, 8);
}

TEST_F(GrowthPolicyTest, ACommandGrowsOnlyOnceItHasSavedAndSaidHowFarItIs) {
  spec_.clear_trainer();
  view_.can_go_on = false;
  EXPECT_EQ(Reason(), GrowthReason::kNoCheckpoint);
  view_.can_go_on = true;
  view_.left = absl::ZeroDuration();
  const GrowthWish wish = WishToGrow(kNow, view_);
  EXPECT_EQ(wish.reason, GrowthReason::kMeasuringSpeed);
  EXPECT_THAT(wish.sentence, HasSubstr("has not reported yet how many steps"));
}

TEST_F(GrowthPolicyTest, SaysWhyAJobCannotWantMore) {
  view_.training = false;
  EXPECT_EQ(Reason(), GrowthReason::kNotAllWorkers);
  view_.granted = 4;
  EXPECT_EQ(Reason(), GrowthReason::kGrowing);
  view_.size = 8;
  EXPECT_EQ(Reason(), GrowthReason::kAtMaximum);
  view_.size = 4;
  spec_.mutable_workers()->set_max(7);
  EXPECT_EQ(Reason(), GrowthReason::kNoLargerSize) << "two micro-batches with five to seven, too";
  view_.taken_by_queue = true;
  EXPECT_EQ(Reason(), GrowthReason::kTakenByQueue);
}

}  // namespace
}  // namespace muster::control
