#include "trainer/parallel/stages.h"

#include <vector>

#include "absl/status/status.h"
#include "gtest/gtest.h"

namespace muster::trainer {
namespace {

std::vector<int> Firsts(const std::vector<int64_t>& costs, int stages) {
  const StageCut cut = *StageCut::Make(costs, stages);
  std::vector<int> firsts;
  for (int stage = 0; stage <= stages; ++stage) firsts.push_back(cut.first(stage));
  return firsts;
}

TEST(StageCutTest, TheCostliestStageCostsAsLittleAsItCan) {
  EXPECT_EQ(Firsts({1, 1, 1, 1}, 2), (std::vector<int>{0, 2, 4}));
  // The head costs as much as three layers.
  EXPECT_EQ(Firsts({0, 2, 2, 2, 2, 2, 2, 6}, 2), (std::vector<int>{0, 5, 8}));
  // The first stage keeps the most micro-batches: it has the fewest blocks that will do.
  EXPECT_EQ(Firsts({0, 2, 2, 2, 2, 2, 2, 6}, 4), (std::vector<int>{0, 1, 4, 7, 8}));
  EXPECT_EQ(Firsts({5, 0, 0}, 3), (std::vector<int>{0, 1, 2, 3}));
  EXPECT_EQ(Firsts({0, 0, 0, 7}, 2), (std::vector<int>{0, 1, 4}));
}

// Compares with every cut there is.
TEST(StageCutTest, NoCutIsBetter) {
  const std::vector<int64_t> costs = {3, 1, 4, 1, 5, 9, 2, 6};
  const StageCut cut = *StageCut::Make(costs, 3);
  const auto worst = [&](int a, int b) {
    int64_t stages[3] = {};
    for (int i = 0; i < 8; ++i) stages[i < a ? 0 : i < b ? 1 : 2] += costs[static_cast<size_t>(i)];
    return std::max({stages[0], stages[1], stages[2]});
  };
  int64_t best = 1000;
  for (int a = 1; a < 7; ++a) {
    for (int b = a + 1; b < 8; ++b) best = std::min(best, worst(a, b));
  }
  EXPECT_EQ(worst(cut.first(1), cut.first(2)), best);
}

TEST(StageCutTest, EveryBlockHasAStage) {
  const StageCut cut = *StageCut::Make(std::vector<int64_t>{1, 1, 1, 1, 1}, 2);
  EXPECT_EQ(cut.StageOf(0), 0);
  EXPECT_EQ(cut.StageOf(cut.first(1) - 1), 0);
  EXPECT_EQ(cut.StageOf(cut.first(1)), 1);
  EXPECT_EQ(cut.StageOf(4), 1);
  EXPECT_EQ(StageCut().StageOf(7), 0);
}

TEST(StageCutTest, ChunksGiveAStageRunsInTurn) {
  const StageCut cut = *StageCut::Make(std::vector<int64_t>{1, 1, 1, 1, 1, 1, 1, 1}, 2, 2);
  EXPECT_EQ(cut.stages(), 2);
  EXPECT_EQ(cut.chunks(), 2);
  std::vector<int> stages;
  for (int block = 0; block < 8; ++block) stages.push_back(cut.StageOf(block));
  EXPECT_EQ(stages, (std::vector<int>{0, 0, 1, 1, 0, 0, 1, 1}));
  EXPECT_EQ(StageCut::Make(std::vector<int64_t>{1, 1, 1, 1, 1}, 3, 2).status(),
            absl::InvalidArgumentError("a pipeline of 3 stages with 2 chunks each for a model of 5 "
                                       "blocks: each chunk has at least one, so up to 2 would "
                                       "do"));
}

TEST(StageCutTest, FoldedStagesHaveARunFromEachEnd) {
  const StageCut cut =
      *StageCut::Make(std::vector<int64_t>{1, 1, 1, 1, 1, 1}, 3, 2, StageForm::kFolded);
  std::vector<int> stages;
  for (int block = 0; block < 6; ++block) stages.push_back(cut.StageOf(block));
  EXPECT_EQ(stages, (std::vector<int>{0, 1, 2, 2, 1, 0}));
  EXPECT_EQ(cut.RunOf(1, 1), 4);
}

TEST(StageCutTest, MoreStagesThanBlocksAreRefused) {
  EXPECT_EQ(StageCut::Make(std::vector<int64_t>{1, 1}, 3).status(),
            absl::InvalidArgumentError("a pipeline of 3 stages for a model of 2 blocks: each stage "
                                       "has at least one, so up to 2 would do"));
}

}  // namespace
}  // namespace muster::trainer
