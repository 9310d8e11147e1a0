#include "operator/core/memory_copies.h"

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

}  // namespace
}  // namespace muster::control
