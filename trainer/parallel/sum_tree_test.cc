#include "trainer/parallel/sum_tree.h"

#include <cmath>
#include <vector>

#include "gtest/gtest.h"

namespace muster::trainer {
namespace {

TEST(SumTreeTest, SplitsAtTheLargestPowerOfTwoBelow) {
  EXPECT_EQ(TreeSplit(2), 1);
  EXPECT_EQ(TreeSplit(3), 2);
  EXPECT_EQ(TreeSplit(4), 2);
  EXPECT_EQ(TreeSplit(5), 4);
  EXPECT_EQ(TreeSplit(8), 4);
  EXPECT_EQ(TreeSplit(9), 8);
}

TEST(SumTreeTest, AnAlignedRangeIsOneNode) {
  EXPECT_EQ(MaximalNodes(8, 4, 8), (std::vector<TreeNode>{{4, 8}}));
  EXPECT_EQ(MaximalNodes(8, 0, 8), (std::vector<TreeNode>{{0, 8}}));
  EXPECT_EQ(MaximalNodes(8, 2, 5), (std::vector<TreeNode>{{2, 4}, {4, 5}}));
  EXPECT_TRUE(MaximalNodes(8, 3, 3).empty());
}

TEST(SumTreeTest, TheRangesOfAllRanksTileTheLeavesInAtMostTwoLogNodesEach) {
  for (int64_t leaves = 1; leaves <= 40; ++leaves) {
    for (int world = 1; world <= leaves; ++world) {
      int64_t at = 0;
      for (int rank = 0; rank < world; ++rank) {
        const TreeNode range = RankRange(leaves, rank, world);
        ASSERT_LT(range.begin, range.end);
        const auto nodes = MaximalNodes(leaves, range.begin, range.end);
        ASSERT_LE(nodes.size(), 2 * std::ceil(std::log2(leaves + 1)));
        for (const TreeNode& node : nodes) {
          ASSERT_EQ(node.begin, at);
          at = node.end;
        }
      }
      ASSERT_EQ(at, leaves);
    }
  }
}

// Folding leaves one by one, merging siblings, must end in the maximal nodes: the engine relies on
// it.
TEST(SumTreeTest, StreamingMergeOfSiblingsGivesTheMaximalNodes) {
  for (int64_t leaves = 1; leaves <= 33; ++leaves) {
    for (int64_t begin = 0; begin < leaves; ++begin) {
      for (int64_t end = begin + 1; end <= leaves; ++end) {
        std::vector<TreeNode> stack;
        for (int64_t i = begin; i < end; ++i) {
          stack.push_back({i, i + 1});
          while (stack.size() >= 2 && AreSiblings(leaves, stack[stack.size() - 2], stack.back())) {
            stack[stack.size() - 2].end = stack.back().end;
            stack.pop_back();
          }
        }
        ASSERT_EQ(stack, MaximalNodes(leaves, begin, end)) << leaves << " " << begin << " " << end;
      }
    }
  }
}

TEST(SumTreeTest, SumsInTreeOrder) {
  EXPECT_EQ(TreeSum({}), 0.0);
  const std::vector<double> v = {1e16, 1.0, -1e16, 1.0, 3.0};
  EXPECT_EQ(TreeSum(v), ((1e16 + 1.0) + (-1e16 + 1.0)) + 3.0);
}

}  // namespace
}  // namespace muster::trainer
