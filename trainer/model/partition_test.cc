#include "trainer/model/partition.h"

#include <vector>

#include "gtest/gtest.h"

namespace muster::trainer {
namespace {

TEST(PartitionTest, APartOfRowsIsOneRunAndAPartOfColumnsARunInEachRow) {
  const Partition rows{.dimension = 0, .pieces = 4}, columns{.dimension = 1, .pieces = 2};
  EXPECT_EQ(ShapeOfPart({8, 6}, rows, {1, 2}), (std::vector<int64_t>{4, 6}));
  EXPECT_EQ(RunsOfPart({8, 6}, rows, {1, 2}), (std::vector<ElementRun>{{24, 24}}));
  EXPECT_EQ(ShapeOfPart({3, 6}, columns, {0, 2}), (std::vector<int64_t>{3, 3}));
  EXPECT_EQ(RunsOfPart({3, 6}, columns, {1, 2}),
            (std::vector<ElementRun>{{3, 3}, {9, 3}, {15, 3}}));
}

TEST(PartitionTest, EveryRankHoldsARunOfEachBlock) {
  const Partition fused{.dimension = 0, .blocks = 3, .pieces = 2};
  EXPECT_EQ(ShapeOfPart({12, 5}, fused, {0, 2}), (std::vector<int64_t>{6, 5}));
  EXPECT_EQ(RunsOfPart({12, 5}, fused, {0, 2}),
            (std::vector<ElementRun>{{0, 10}, {20, 10}, {40, 10}}));
  EXPECT_EQ(RunsOfPart({12}, fused, {1, 2}), (std::vector<ElementRun>{{2, 2}, {6, 2}, {10, 2}}));
}

TEST(PartitionTest, APartIsABoxAlsoOfALayerOfSeveralBlocks) {
  const PartBox rows = BoxOfPart({8, 6}, {.dimension = 0, .pieces = 4}, {1, 2});
  EXPECT_EQ(rows.view, (std::vector<int64_t>{8, 6}));
  EXPECT_EQ(rows.start, (std::vector<int64_t>{4, 0}));
  EXPECT_EQ(rows.lengths, (std::vector<int64_t>{4, 6}));
  const PartBox fused = BoxOfPart({5, 12}, {.dimension = 1, .blocks = 3, .pieces = 2}, {1, 2});
  EXPECT_EQ(fused.view, (std::vector<int64_t>{5, 3, 4}));
  EXPECT_EQ(fused.start, (std::vector<int64_t>{0, 0, 2}));
  EXPECT_EQ(fused.lengths, (std::vector<int64_t>{5, 3, 2}));
}

TEST(PartitionTest, TheOnlyPartAndAPartThatIsNotDividedAreTheWhole) {
  EXPECT_EQ(RunsOfPart({4, 6}, {.dimension = 1, .blocks = 3, .pieces = 2}, {0, 1}),
            (std::vector<ElementRun>{{0, 24}}));
  EXPECT_EQ(RunsOfPart({4, 6}, {}, {3, 8}), (std::vector<ElementRun>{{0, 24}}));
  EXPECT_EQ(ShapeOfPart({4, 6}, {}, {3, 8}), (std::vector<int64_t>{4, 6}));
  EXPECT_TRUE(CheckParts({}, 7).ok());
}

TEST(PartitionTest, PiecesAreNotBrokenAndTheErrorNamesTheNearestNumbers) {
  const Partition heads{.dimension = 0, .pieces = 12};
  for (const int parts : {1, 2, 3, 4, 6, 12}) EXPECT_TRUE(CheckParts(heads, parts).ok()) << parts;
  EXPECT_EQ(CheckParts(heads, 5).message(),
            "12 pieces cannot be shared by 5 ranks; the nearest numbers are 4 or 6");
  EXPECT_EQ(CheckParts(heads, 16).message(),
            "12 pieces cannot be shared by 16 ranks; the nearest numbers are 12");
}

TEST(PartitionTest, UnevenPartsTileTheWholeAndDifferByOnePiece) {
  const Partition vocabulary{.dimension = 0, .pieces = 11, .uneven = true};
  int64_t next = 0;
  for (int index = 0; index < 4; ++index) {
    const std::vector<ElementRun> runs = RunsOfPart({11, 3}, vocabulary, {index, 4});
    ASSERT_EQ(runs.size(), 1u);
    EXPECT_EQ(runs[0].begin, next);
    const int64_t rows = ShapeOfPart({11, 3}, vocabulary, {index, 4})[0];
    EXPECT_EQ(runs[0].count, 3 * rows);
    EXPECT_TRUE(rows == 2 || rows == 3) << rows;
    next += runs[0].count;
  }
  EXPECT_EQ(next, 33);
  EXPECT_TRUE(CheckParts(vocabulary, 4).ok());
  EXPECT_FALSE(CheckParts(vocabulary, 12).ok());
}

}  // namespace
}  // namespace muster::trainer
