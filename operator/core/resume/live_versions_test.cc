#include "operator/core/resume/live_versions.h"

#include <cstdint>
#include <optional>
#include <vector>

#include "gtest/gtest.h"

namespace muster::control {
namespace {

using v1alpha1::RankPosition;
using v1alpha1::Version;

Version V(int64_t step, int64_t attempt) {
  Version version;
  version.set_step(step);
  version.set_attempt(attempt);
  return version;
}

RankPosition At(const Version& applied, std::optional<Version> sealed = std::nullopt) {
  RankPosition position;
  *position.mutable_applied() = applied;
  if (sealed) *position.mutable_sealed() = *sealed;
  return position;
}

RankPosition Knows(RankPosition position, const Version& decision) {
  *position.add_decisions()->mutable_version() = decision;
  return position;
}

RankPosition WithSlice(RankPosition position, int shard, int shards) {
  position.mutable_slice()->set_shard(shard);
  position.mutable_slice()->set_shards(shards);
  return position;
}

TEST(LiveVersionsTest, ARankReachesWhatItHoldsAndWhatADecisionLetsItApply) {
  const std::vector<RankPosition> positions = {At(V(4, 1), V(5, 1)), Knows(At(V(5, 1)), V(5, 1))};
  const StepDecisions decisions = IndexDecisions(positions);
  EXPECT_TRUE(Reaches(positions[0], V(4, 1), decisions));
  EXPECT_TRUE(Reaches(positions[0], V(5, 1), decisions));
  EXPECT_FALSE(Holds(positions[0], V(5, 1)));
  EXPECT_TRUE(Reaches(positions[1], V(5, 1), decisions));
  EXPECT_FALSE(Reaches(positions[1], V(4, 1), decisions));
  EXPECT_FALSE(Reaches(positions[0], V(5, 1), {})) << "nobody knows the decision";
  EXPECT_FALSE(Reaches(At(V(3, 1), V(5, 1)), V(5, 1), decisions)) << "gradients of another state";
  EXPECT_FALSE(Reaches(At(V(5, 2)), V(5, 1), decisions)) << "the same step of another branch";
}

TEST(LiveVersionsTest, TheNewestVersionWithAllSlicesIsChosen) {
  const std::vector<RankPosition> positions = {
      WithSlice(At(V(6, 1)), 0, 2),
      WithSlice(At(V(4, 1), V(5, 1)), 1, 2),
      WithSlice(Knows(At(V(5, 1)), V(5, 1)), 0, 2),
  };
  const auto [target, unused] = NewestWhole(positions, IndexDecisions(positions));
  ASSERT_TRUE(target.has_value());
  EXPECT_EQ(VersionOrder(*target), VersionOrder(V(5, 1))) << "rank 1 comes to hold its half of it";
}

TEST(LiveVersionsTest, WhereNoVersionIsWholeTheNewestIsNamedWithItsGap) {
  const std::vector<RankPosition> positions = {WithSlice(At(V(6, 1)), 0, 2),
                                               WithSlice(At(V(4, 1)), 1, 2)};
  const auto [target, unused] = NewestWhole(positions, IndexDecisions(positions));
  EXPECT_FALSE(target.has_value());
  EXPECT_EQ(unused.why,
            "the live state of step 6 (attempt 1) is not whole: no rank holds the part from 1/2 to "
            "1 of it");
  EXPECT_EQ(unused.step, 6);
}

TEST(LiveVersionsTest, RanksThatMissedTheNewestRoundOfferNoVersion) {
  std::vector<RankPosition> positions = {At(V(9, 1)), At(V(7, 2))};
  positions[0].set_round(1);
  positions[1].set_round(2);
  const auto [target, unused] = NewestWhole(positions, IndexDecisions(positions));
  ASSERT_TRUE(target.has_value());
  EXPECT_EQ(VersionOrder(*target), VersionOrder(V(7, 2)));
}

TEST(LiveVersionsTest, TheNextAttemptIsNewToEveryRank) {
  RankPosition saved;
  *saved.add_checkpoints()->mutable_version() = V(2, 7);
  EXPECT_EQ(NextAttempt({}, 3), 3);
  EXPECT_EQ(NextAttempt(std::vector<RankPosition>{At(V(4, 3), V(5, 4))}, 3), 5);
  EXPECT_EQ(NextAttempt(std::vector<RankPosition>{Knows(At(V(4, 3)), V(5, 6)), At(V(4, 3))}, 3), 7);
  EXPECT_EQ(NextAttempt(std::vector<RankPosition>{At(V(4, 3)), saved}, 3), 8);
}

}  // namespace
}  // namespace muster::control
