#include "operator/reconcile/save_turns.h"

#include "gtest/gtest.h"

namespace muster::control {
namespace {

constexpr absl::Time kStart = absl::UnixEpoch();
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
