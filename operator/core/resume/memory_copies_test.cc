#include "operator/core/resume/memory_copies.h"

#include <vector>

#include "gtest/gtest.h"

namespace muster::control {
namespace {

using v1alpha1::RankPosition;
using v1alpha1::Version;

constexpr char kHistory[] = "00000000000000aa";

Version V(int64_t step, int64_t attempt) {
  Version version;
  version.set_step(step);
  version.set_attempt(attempt);
  return version;
}

RankPosition With(const std::vector<Version>& copies, int shard = 0, int shards = 1) {
  RankPosition position;
  for (const Version& version : copies) {
    auto* copy = position.add_copies();
    *copy->mutable_version() = version;
    copy->set_history(kHistory);
    copy->mutable_slice()->set_shard(shard);
    copy->mutable_slice()->set_shards(shards);
  }
  return position;
}

int64_t NewestStep(const std::vector<RankPosition>& positions, int64_t least_step = 0,
                   int64_t least_attempt = 0, const char* history = kHistory) {
  const auto newest = NewestCopied(positions, {history, least_step, least_attempt});
  return newest ? newest->step() : -1;
}

TEST(NewestCopiedTest, IsTheNewestVersionOfWhichTheCopiesCoverEveryPart) {
  EXPECT_EQ(NewestStep({With({V(20, 1), V(15, 1)}, 0, 2), With({V(15, 1), V(10, 1)}, 1, 2)}), 15);
  EXPECT_EQ(NewestStep({With({V(20, 1)}, 0, 2), With({V(20, 1)}, 1, 2)}), 20);
}

TEST(NewestCopiedTest, NothingIsUsableWhileAPartIsMissing) {
  EXPECT_EQ(NewestStep({With({V(20, 1)}, 0, 2), With({V(15, 1)}, 1, 2)}), -1);
  EXPECT_EQ(NewestStep({With({V(20, 1)}, 1, 2), With({V(20, 1)}, 1, 2)}), -1);
  EXPECT_EQ(NewestStep({RankPosition()}), -1);
}

TEST(NewestCopiedTest, OneCopyOfAllServesRanksThatHaveNone) {
  EXPECT_EQ(NewestStep({RankPosition(), With({V(20, 1)})}), 20);
}

// Another worker may have redone step 20 after the copy of attempt 1 was taken.
TEST(NewestCopiedTest, CopiesOfTheSameStepInAnotherAttemptAreNotPartsOfOneVersion) {
  EXPECT_EQ(NewestStep({With({V(20, 1)}, 0, 2), With({V(20, 2)}, 1, 2)}), -1);
}

TEST(NewestCopiedTest, TheNewerBranchWinsOverTheHigherStep) {
  EXPECT_EQ(NewestStep({With({V(30, 1), V(25, 4)})}), 25);
}

TEST(NewestCopiedTest, ALiveRankServesAsACopyOfItsVersion) {
  RankPosition live;
  *live.mutable_applied() = V(20, 1);
  live.mutable_slice()->set_shards(2);
  EXPECT_EQ(NewestStep({live, With({V(20, 1)}, 1, 2)}), 20);
}

TEST(NewestCopiedTest, CopiesOfAnotherHistoryOrBehindTheCheckpointAreNotWanted) {
  const std::vector<RankPosition> positions = {With({V(20, 3)})};
  EXPECT_EQ(NewestStep(positions, 20, 3), 20);
  EXPECT_EQ(NewestStep(positions, 21, 3), -1);
  EXPECT_EQ(NewestStep(positions, 20, 4), -1);
  EXPECT_EQ(NewestStep(positions, 0, 0, "00000000000000bb"), -1);
}

RankPosition Keeping(RankPosition position, const std::vector<Version>& replicas, int shard,
                     int shards) {
  const RankPosition kept = With(replicas, shard, shards);
  *position.mutable_replicas() = kept.copies();
  for (auto& replica : *position.mutable_replicas()) replica.set_bytes(100 + shard);
  return position;
}

TEST(NewestCopiedTest, AReplicaServesForTheSliceOfALostWorker) {
  const std::vector<RankPosition> positions = {
      With({V(20, 1), V(15, 1)}, 0, 3),
      Keeping(With({V(20, 1), V(15, 1)}, 2, 3), {V(15, 1)}, 1, 3)};
  EXPECT_EQ(NewestStep(positions), 15) << "the replica of step 20 was not whole";
  EXPECT_EQ(NewestStep({positions[0], Keeping(positions[1], {V(20, 1), V(15, 1)}, 1, 3)}), 20);
}

// The keepers may have got the copies of a branch after the job had left it.
TEST(NewestCopiedTest, AVersionOfWhichThereAreOnlyReplicasIsNotUsed) {
  EXPECT_EQ(NewestStep({Keeping(With({V(10, 1)}, 0, 2), {V(20, 1)}, 1, 2),
                        Keeping(With({V(10, 1)}, 1, 2), {V(20, 1)}, 0, 2)}),
            10);
}

TEST(ReplicasNeededTest, EachSliceThatNoRankHasComesFromTheLowestRankThatReadsIt) {
  const std::vector<RankPosition> positions = {
      With({V(20, 1)}, 0, 4), Keeping(With({V(20, 1)}, 1, 4), {V(20, 1), V(15, 1)}, 3, 4),
      Keeping(RankPosition(), {V(20, 1)}, 2, 4), Keeping(RankPosition(), {V(20, 1)}, 3, 4),
      Keeping(RankPosition(), {V(20, 1)}, 0, 4)};
  const auto needed = ReplicasNeeded(positions, V(20, 1));
  ASSERT_EQ(needed.size(), 2u);
  EXPECT_EQ(needed[0].rank(), 1);
  EXPECT_EQ(needed[0].slice().shard(), 3);
  EXPECT_EQ(needed[0].slice().shards(), 4);
  EXPECT_EQ(needed[0].bytes(), 103);
  EXPECT_EQ(needed[1].rank(), 2);
  EXPECT_EQ(needed[1].slice().shard(), 2);
}

// Rank 1 had come to the next layout when its round broke. Rank 0 had not.
TEST(ReplicasNeededTest, TheSliceThatARankHadBeforeComesFromItsOwnCopy) {
  RankPosition moved = Keeping(With({V(20, 1)}, 1, 3), {V(20, 1)}, 2, 3);
  *moved.mutable_applied() = V(20, 1);
  moved.mutable_slice()->set_shard(1);
  moved.mutable_slice()->set_shards(2);
  const std::vector<RankPosition> positions = {With({V(20, 1)}, 0, 3), moved};
  EXPECT_EQ(NewestStep(positions), 20);
  const auto needed = ReplicasNeeded(positions, V(20, 1));
  ASSERT_EQ(needed.size(), 2u);
  EXPECT_EQ(needed[0].rank(), 1);
  EXPECT_EQ(needed[0].slice().shard(), 1);
  EXPECT_EQ(needed[0].slice().shards(), 3);
}

TEST(ReplicasNeededTest, NoneIsNeededWhereTheRanksHoldAll) {
  EXPECT_TRUE(
      ReplicasNeeded({With({V(20, 1)}, 0, 2), Keeping(With({V(20, 1)}, 1, 2), {V(20, 1)}, 2, 4)},
                     V(20, 1))
          .empty());
}

}  // namespace
}  // namespace muster::control
