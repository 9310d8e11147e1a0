#include "operator/reconcile/job_turns.h"

#include "absl/time/time.h"
#include "gtest/gtest.h"

namespace muster::control {
namespace {

constexpr absl::Time kStart = absl::UnixEpoch();

TEST(ProgressBudgetTest, ABurstThenInLine) {
  ProgressBudget budget;
  for (int i = 0; i < ProgressBudget::kBurst; ++i) EXPECT_EQ(budget.Reserve(kStart), kStart);
  EXPECT_EQ(budget.Reserve(kStart), kStart + absl::Milliseconds(50));
  EXPECT_EQ(budget.Reserve(kStart), kStart + absl::Milliseconds(100));
}

TEST(ProgressBudgetTest, CreditIsBounded) {
  ProgressBudget budget;
  budget.Reserve(kStart);
  const absl::Time later = kStart + absl::Hours(1);
  for (int i = 0; i < ProgressBudget::kBurst; ++i) EXPECT_EQ(budget.Reserve(later), later);
  EXPECT_GT(budget.Reserve(later), later);
}

TEST(ProgressBudgetTest, NeverMoreThanTwentyPerSecondAfterTheBurst) {
  ProgressBudget budget;
  int granted = 0;
  for (int i = 0; i < 1000; ++i) {
    if (budget.Reserve(kStart) < kStart + absl::Seconds(10)) ++granted;
  }
  EXPECT_EQ(granted, ProgressBudget::kBurst + 10 * 20 - 1);
}

constexpr SaveTurn kNone = SaveTurn::kNone, kWanted = SaveTurn::kWanted, kTaken = SaveTurn::kTaken;

TEST(SaveTurnsTest, JobsWriteInTheOrderInWhichTheyAsked) {
  SaveTurns turns(1);
  EXPECT_TRUE(turns.Update("a", "nfs", kWanted, kStart));
  EXPECT_FALSE(turns.Update("b", "nfs", kWanted, kStart));
  EXPECT_FALSE(turns.Update("c", "nfs", kWanted, kStart));
  EXPECT_EQ(turns.Waiting(), 2);
  EXPECT_TRUE(turns.Update("a", "nfs", kTaken, kStart));
  EXPECT_FALSE(turns.Update("c", "nfs", kWanted, kStart));
  turns.Update("a", "nfs", kNone, kStart);
  EXPECT_FALSE(turns.Update("c", "nfs", kWanted, kStart)) << "b asked before";
  EXPECT_TRUE(turns.Update("b", "nfs", kWanted, kStart));
  EXPECT_FALSE(turns.Update("c", "nfs", kWanted, kStart));
  turns.Update("b", "nfs", kNone, kStart);
  EXPECT_TRUE(turns.Update("c", "nfs", kWanted, kStart));
  EXPECT_EQ(turns.Waiting(), 0);
}

TEST(SaveTurnsTest, EachStorageHasItsOwnLine) {
  SaveTurns turns(1);
  EXPECT_TRUE(turns.Update("a", "nfs", kTaken, kStart));
  EXPECT_TRUE(turns.Update("b", "s3", kWanted, kStart));
  EXPECT_FALSE(turns.Update("c", "nfs", kWanted, kStart));
  EXPECT_FALSE(turns.Update("c", "s3", kWanted, kStart)) << "its checkpoints go elsewhere now";
  turns.Update("b", "s3", kNone, kStart);
  EXPECT_TRUE(turns.Update("c", "s3", kWanted, kStart));
}

TEST(SaveTurnsTest, AJobThatWritesWithoutATurnCounts) {
  SaveTurns turns(2);
  EXPECT_TRUE(turns.Update("a", "nfs", kTaken, kStart));
  EXPECT_TRUE(turns.Update("b", "nfs", kWanted, kStart));
  EXPECT_FALSE(turns.Update("c", "nfs", kWanted, kStart));
  EXPECT_TRUE(turns.Update("d", "nfs", kTaken, kStart)) << "nobody can keep it from writing";
  turns.Update("a", "nfs", kNone, kStart);
  EXPECT_FALSE(turns.Update("c", "nfs", kWanted, kStart));
  turns.Update("d", "nfs", kNone, kStart);
  EXPECT_TRUE(turns.Update("c", "nfs", kWanted, kStart));
}

TEST(SaveTurnsTest, AJobThatIsGoneHoldsNobodyUp) {
  SaveTurns turns(1);
  turns.Update("a", "nfs", kTaken, kStart);
  turns.Update("b", "nfs", kWanted, kStart);
  EXPECT_FALSE(turns.Update("c", "nfs", kWanted, kStart));
  turns.Forget("a");
  const absl::Time later = kStart + SaveTurns::kPlaceKept + absl::Seconds(1);
  EXPECT_TRUE(turns.Update("c", "nfs", kWanted, later)) << "b has stopped asking";
  EXPECT_FALSE(turns.Update("d", "nfs", kWanted, later + SaveTurns::kTurnKept));
  EXPECT_TRUE(turns.Update("d", "nfs", kWanted, later + SaveTurns::kTurnKept + absl::Seconds(1)));
}

TEST(SaveTurnsTest, WithoutALimitNobodyWaits) {
  SaveTurns turns(0);
  EXPECT_TRUE(turns.Update("a", "nfs", kWanted, kStart));
  EXPECT_TRUE(turns.Update("b", "nfs", kWanted, kStart));
  EXPECT_EQ(turns.Waiting(), 0);
}

}  // namespace
}  // namespace muster::control
