#include "trainer/commit/step_messages.h"

#include <cstdint>
#include <optional>
#include <vector>

#include "gtest/gtest.h"

namespace muster::trainer {
namespace {

v1alpha1::StepDecision Voted(int64_t step) {
  v1alpha1::StepDecision voted;
  voted.mutable_version()->set_step(step);
  voted.mutable_version()->set_attempt(3);
  voted.set_round(70000);
  voted.set_apply(true);
  voted.set_clip_factor(0.25);
  return voted;
}

std::vector<double> Sum(std::vector<double> a, const std::vector<double>& b) {
  for (size_t i = 0; i < a.size(); ++i) a[i] += b[i];
  return a;
}

TEST(VoteMessageTest, ATuningIsKnownToAllRanksOrToNone) {
  const auto vote = [](std::optional<uint64_t> tuning) {
    return EncodeVote({.tuning = tuning, .ranks = 2}, false, 1, 1);
  };
  EXPECT_TRUE(AllKnowTuning(Sum(vote(65535), vote(65535)), 65535, 2));
  EXPECT_TRUE(AllKnowTuning(Sum(vote(0), vote(0)), 0, 2));
  EXPECT_FALSE(AllKnowTuning(Sum(vote(7), vote(std::nullopt)), 7, 2));
  EXPECT_FALSE(AllKnowTuning(Sum(vote(7), vote(8)), 7, 2));
  EXPECT_FALSE(AllKnowTuning(Sum(vote(std::nullopt), vote(std::nullopt)), 7, 2));
}

TEST(ConfirmMessageTest, AnUpdateIsFiniteIfItIsOnEveryRank) {
  const auto yes = EncodeConfirm(Voted(7), true), no = EncodeConfirm(Voted(7), false);
  EXPECT_EQ(DecodeConfirm(Sum(yes, yes), Voted(7), 2).value(), true);
  EXPECT_EQ(DecodeConfirm(Sum(yes, no), Voted(7), 2).value(), false);
}

TEST(ConfirmMessageTest, RanksThatPreparedDifferentUpdatesApplyNone) {
  v1alpha1::StepDecision clipped = Voted(7);
  clipped.set_clip_factor(0.5);
  v1alpha1::StepDecision later = Voted(7);
  later.set_round(70001);
  for (const v1alpha1::StepDecision& other : {Voted(8), clipped, later}) {
    const auto sum = Sum(EncodeConfirm(Voted(7), true), EncodeConfirm(other, true));
    EXPECT_EQ(DecodeConfirm(sum, Voted(7), 2).status().message(),
              "ranks prepared different updates of step 7 (attempt 3): nothing was applied");
  }
}

}  // namespace
}  // namespace muster::trainer
