#include "operator/core/state/leave_plan.h"

#include "gtest/gtest.h"

namespace muster::control {
namespace {

LeaveFacts Facts(absl::Duration left, std::optional<absl::Duration> save, bool others = false) {
  return {left, true, save, absl::Seconds(4), others};
}

TEST(LeavePlanTest, ACheckpointThatFitsIsSavedAndTheRestIsKeptForTheChangeOfRounds) {
  const LeaveChoice choice = ChooseLeavePlan(Facts(absl::Seconds(120), absl::Seconds(60)));
  EXPECT_EQ(choice.plan, LeavePlan::kSave);
  EXPECT_EQ(choice.latest, absl::Seconds(116));
  EXPECT_EQ(choice.reason, "a checkpoint takes 1m, and 2m are left");
}

TEST(LeavePlanTest, ACheckpointIsSavedEvenIfOthersHoldAll) {
  EXPECT_EQ(ChooseLeavePlan(Facts(absl::Seconds(30), absl::Seconds(10), true)).plan,
            LeavePlan::kSave);
}

TEST(LeavePlanTest, TheSaveIsExpectedToTakeAQuarterMore) {
  EXPECT_EQ(ChooseLeavePlan(Facts(absl::Seconds(29), absl::Seconds(20))).plan, LeavePlan::kSave);
  EXPECT_EQ(ChooseLeavePlan(Facts(absl::Milliseconds(28'999), absl::Seconds(20))).plan,
            LeavePlan::kLeave);
}

TEST(LeavePlanTest, ACheckpointThatTakes60SecondsIsNotBegunInTheLast30) {
  const LeaveChoice handed = ChooseLeavePlan(Facts(absl::Seconds(30), absl::Seconds(60), true));
  EXPECT_EQ(handed.plan, LeavePlan::kHandOver);
  EXPECT_EQ(handed.latest, absl::ZeroDuration());
  EXPECT_EQ(handed.reason,
            "a checkpoint takes 1m, and only 30s are left; the workers that stay hold all of the "
            "state");
  const LeaveChoice lost = ChooseLeavePlan(Facts(absl::Seconds(30), absl::Seconds(60)));
  EXPECT_EQ(lost.plan, LeavePlan::kLeave);
  EXPECT_EQ(lost.reason, "a checkpoint takes 1m, and only 30s are left");
}

TEST(LeavePlanTest, ACheckpointOfUnknownLengthGetsHalfOfTheTime) {
  const LeaveChoice choice = ChooseLeavePlan(Facts(absl::Seconds(30), std::nullopt));
  EXPECT_EQ(choice.plan, LeavePlan::kSave);
  EXPECT_EQ(choice.latest, absl::Seconds(15));
}

TEST(LeavePlanTest, AChangeOfRoundsTakesAtMostHalfOfTheTime) {
  LeaveFacts facts = Facts(absl::Seconds(30), absl::Seconds(10));
  facts.change = absl::Hours(1);
  EXPECT_EQ(ChooseLeavePlan(facts).plan, LeavePlan::kSave);
  EXPECT_EQ(ChooseLeavePlan(facts).latest, absl::Seconds(15));
}

TEST(LeavePlanTest, WhereNothingCanBeSavedTheOthersDecide) {
  LeaveFacts facts = Facts(absl::Seconds(120), absl::Seconds(1), true);
  facts.may_save = false;
  EXPECT_EQ(ChooseLeavePlan(facts).plan, LeavePlan::kHandOver);
  facts.others_hold_all = false;
  EXPECT_EQ(ChooseLeavePlan(facts).plan, LeavePlan::kLeave);
  EXPECT_EQ(ChooseLeavePlan(facts).reason, "no checkpoint can be saved now");
}

TEST(LeavePlanTest, ANoticeThatIsLateLeavesNoTimeToSave) {
  EXPECT_EQ(ChooseLeavePlan(Facts(absl::ZeroDuration(), absl::Seconds(1), true)).plan,
            LeavePlan::kHandOver);
  const LeaveChoice unknown = ChooseLeavePlan(Facts(absl::ZeroDuration(), std::nullopt));
  EXPECT_EQ(unknown.plan, LeavePlan::kLeave);
  EXPECT_EQ(unknown.reason, "the deadline has passed");
}

}  // namespace
}  // namespace muster::control
