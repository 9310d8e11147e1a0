#include "trainer/commit/judge_item.h"

#include <optional>
#include <set>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace muster::trainer {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Ranks = std::set<int>;

SharedItem Of(const std::vector<int64_t>& digests, const std::set<int>& no_witnesses = {}) {
  SharedItem item;
  for (int rank = 0; rank < static_cast<int>(digests.size()); ++rank) {
    item.holders.push_back(
        {rank, digests[static_cast<size_t>(rank)], no_witnesses.count(rank) == 0});
  }
  return item;
}

Ranks Wrong(const SharedItem& item, const std::vector<Proof>& proofs = {}) {
  const std::optional<Disagreement> difference = JudgeItem(item, proofs);
  return difference ? difference->wrong() : Ranks{-1};
}

TEST(JudgeItemTest, RanksThatAgreeDoNotDiffer) {
  EXPECT_FALSE(JudgeItem(Of({7, 7, 7}), {}).has_value());
  EXPECT_FALSE(JudgeItem(Of({7}), {}).has_value());
  EXPECT_FALSE(JudgeItem(SharedItem{}, {}).has_value());
}

TEST(JudgeItemTest, TheMajorityIsRightWhateverItsRankNumbers) {
  EXPECT_EQ(Wrong(Of({1, 7, 7})), Ranks{0});
  EXPECT_EQ(Wrong(Of({7, 1, 7})), Ranks{1});
  EXPECT_EQ(Wrong(Of({7, 7, 1})), Ranks{2});
  EXPECT_EQ(Wrong(Of({1, 2, 7, 7, 7})), (Ranks{0, 1}));
  EXPECT_TRUE(JudgeItem(Of({1, 7, 7}), {})->by_majority);
}

TEST(JudgeItemTest, HalfIsNoMajority) {
  EXPECT_THAT(Wrong(Of({1, 7})), IsEmpty());
  EXPECT_THAT(Wrong(Of({1, 1, 7, 7})), IsEmpty());
  EXPECT_THAT(Wrong(Of({1, 2, 7, 7})), IsEmpty());
  EXPECT_THAT(JudgeItem(Of({7, 1, 7, 1}), {})->sides, ElementsAre(Ranks{0, 2}, Ranks{1, 3}));
}

// Ranks 2 and 3 have received from rank 0.
TEST(JudgeItemTest, ReceiversAddNothingToTheSideOfTheirDonor) {
  EXPECT_THAT(Wrong(Of({1, 7, 1, 1}, {2, 3})), IsEmpty());
  EXPECT_EQ(Wrong(Of({1, 7, 7, 1}, {3})), (Ranks{0, 3}));
  EXPECT_EQ(Wrong(Of({7, 7, 1}, {2})), Ranks{2}) << "what it received has changed on its way";
  EXPECT_EQ(Wrong(Of({7, 1, 7}, {0, 1, 2})), Ranks{1}) << "no rank had it whole";
}

TEST(JudgeItemTest, WithoutAMajorityTheCheckpointJudges) {
  EXPECT_EQ(Wrong(Of({1, 7}), {Proof::kWrong, Proof::kRight}), Ranks{0});
  EXPECT_EQ(Wrong(Of({1, 7}), {Proof::kNone, Proof::kRight}), Ranks{0});
  EXPECT_EQ(Wrong(Of({1, 1, 7, 7}), {Proof::kRight, Proof::kWrong, Proof::kWrong, Proof::kNone}),
            (Ranks{2, 3}))
      << "rank 1 is wrong elsewhere";
  EXPECT_FALSE(JudgeItem(Of({1, 7}), std::vector{Proof::kNone, Proof::kRight})->by_majority);
}

TEST(JudgeItemTest, ACheckpointThatKnowsNeitherDecidesNothing) {
  EXPECT_THAT(Wrong(Of({1, 7}), {Proof::kWrong, Proof::kWrong}), IsEmpty());
  EXPECT_THAT(Wrong(Of({1, 7}), {Proof::kNone, Proof::kNone}), IsEmpty());
  EXPECT_THAT(Wrong(Of({1, 7}), {Proof::kRight, Proof::kRight}), IsEmpty());
}

}  // namespace
}  // namespace muster::trainer
