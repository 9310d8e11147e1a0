#include "trainer/engine/table/task_table.h"

#include <vector>

#include "gtest/gtest.h"
#include "trainer/comm/mesh_shape.h"
#include "trainer/engine/table/table_check.h"

namespace muster::trainer {
namespace {

TableShape TwoBlocks() {
  return {.blocks = 2, .unit_users = {{0}, {1}}, .can_split = {false, false}};
}

TEST(MakeTablesTest, CopiesAndShardsTakeMicroBatchesOfTheirOwn) {
  const MeshShape mesh{.data = 2, .shard = 2};
  const auto tables = MakeTables(TwoBlocks(), mesh, 6);
  ASSERT_TRUE(tables.ok()) << tables.status();
  EXPECT_EQ(tables->of_rank, (std::vector<int>{0, 1, 0, 1}));
  EXPECT_EQ(tables->distinct.size(), 2u);
  EXPECT_TRUE(CheckTables(TwoBlocks(), tables->distinct).ok());
  EXPECT_EQ(MostMicroBatches(mesh, 6), 2);
}

TEST(MakeTablesTest, TheRanksOfATensorAxisWorkOnTheSameMicroBatches) {
  const auto tables = MakeTables(TwoBlocks(), {.data = 2, .tensor = 2}, 3);
  ASSERT_TRUE(tables.ok()) << tables.status();
  EXPECT_EQ(tables->of_rank, (std::vector<int>{0, 0, 1, 1}));
}

TEST(MakeTablesTest, AThousandRanksHaveNoMoreTablesThanTheyHaveShares) {
  const auto tables = MakeTables(TwoBlocks(), {.data = 256, .shard = 4}, 1536);
  ASSERT_TRUE(tables.ok()) << tables.status();
  EXPECT_EQ(tables->of_rank.size(), 1024u);
  EXPECT_EQ(tables->distinct.size(), 2u);
}

TEST(MakeTablesTest, ALayoutWithoutATableIsRefusedByItsAxis) {
  EXPECT_EQ(MakeTables(TwoBlocks(), {.pipeline = 2, .data = 2}, 8).status().message(),
            "a layout with pipeline 2: this trainer divides its work along data, shard and tensor; "
            "set pipeline to 1");
  EXPECT_EQ(MakeTables(TwoBlocks(), {.context = 2}, 8).status().code(),
            absl::StatusCode::kUnimplemented);
}

TEST(MakeTablesTest, ARankWithoutAMicroBatchIsRefused) {
  EXPECT_EQ(MakeTables(TwoBlocks(), {.data = 3}, 2).status().message(),
            "3 ranks for 2 micro-batches: a rank would have none");
}

}  // namespace
}  // namespace muster::trainer
