#include "trainer/engine/table/task_table.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "trainer/comm/mesh_shape.h"
#include "trainer/engine/table/table_check.h"
#include "trainer/parallel/stages.h"

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
  const absl::Status refused = MakeTables(TwoBlocks(), {.data = 2, .expert = 2}, 8).status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kUnimplemented);
  EXPECT_EQ(refused.message(),
            "a layout with expert 2: this trainer divides its work along pipeline, data, shard, "
            "context and tensor; set expert to 1");
}

TEST(MakeTablesTest, ARankWithoutAMicroBatchIsRefused) {
  EXPECT_EQ(MakeTables(TwoBlocks(), {.data = 3}, 2).status().message(),
            "3 ranks for 2 micro-batches: a rank would have none");
}

// Returns the shape of a model with `each` blocks in every run of a stage. The first block and the
// last one share a unit.
TableShape Stages(int stages, int each, int chunks = 1, StageForm form = StageForm::kInTurn) {
  TableShape shape{.blocks = stages * chunks * each};
  for (int b = 0; b < shape.blocks; ++b) shape.unit_users.push_back({b});
  shape.unit_users.push_back({0, shape.blocks - 1});
  shape.can_split.assign(static_cast<size_t>(shape.blocks), false);
  const std::vector<int64_t> costs(static_cast<size_t>(shape.blocks), 1);
  shape.cut = *StageCut::Make(costs, stages, chunks, form);
  return shape;
}

// Returns the most passes whose activations a rank keeps at once.
int MostKept(const TaskTable& table) {
  int kept = 0, most = 0;
  for (const Task& task : table) {
    if (task.kind == TaskKind::kForward) most = std::max(most, ++kept);
    if (task.kind == TaskKind::kBackward || task.kind == TaskKind::kBackwardWeight) --kept;
  }
  return most;
}

// The idle share of stages that cost alike (Huang et al., 2019), and what a stage keeps: of the
// micro-batches that run ahead of the first backward pass, or of all.
TEST(PipelineTableTest, TheBubbleIsThatOfTheFormulaAndOneForwardOneBackwardKeepsLess) {
  for (int stages = 2; stages <= 5; ++stages) {
    for (int micro_batches = 1; micro_batches <= 9; ++micro_batches) {
      const TableShape shape = Stages(stages, 2);
      const double bubble = (stages - 1.0) / (micro_batches + stages - 1.0);
      const auto check = [&](PipelineSchedule schedule) {
        const auto tables = MakeTables(shape, {.pipeline = stages}, micro_batches, schedule);
        EXPECT_TRUE(tables.ok()) << tables.status();
        const auto report = CheckTables(shape, tables->distinct);
        EXPECT_TRUE(report.ok()) << report.status();
        EXPECT_NEAR(report->bubble, bubble, 1e-12) << stages << " x " << micro_batches;
        return report->most_alive;
      };
      EXPECT_EQ(check(PipelineSchedule::kOneForwardOneBackward), std::min(stages, micro_batches));
      EXPECT_EQ(check(PipelineSchedule::kAllForwardFirst), micro_batches);
    }
  }
}

// With passes of equal cost F = B = W the stages wait for (p - 1)(F + B - W) of the time (Qi et
// al., 2023, table 2), and none keeps more than the first one does with 1F1B.
TEST(PipelineTableTest, ZeroBubbleFillsTheEndOfAStepWithGradientsOfWeights) {
  for (int stages = 2; stages <= 5; ++stages) {
    for (int micro_batches = stages; micro_batches <= 9; ++micro_batches) {
      TableShape shape = Stages(stages, 2);
      shape.can_split.assign(shape.can_split.size(), true);
      const auto tables =
          MakeTables(shape, {.pipeline = stages}, micro_batches, PipelineSchedule::kZeroBubble);
      ASSERT_TRUE(tables.ok()) << tables.status();
      const auto report = CheckTables(shape, tables->distinct);
      ASSERT_TRUE(report.ok()) << report.status();
      EXPECT_NEAR(report->bubble, (stages - 1.0) / (3.0 * micro_batches + stages - 1.0), 1e-12)
          << stages << " x " << micro_batches;
      EXPECT_EQ(report->most_alive, std::min(stages, micro_batches));
    }
  }
}

// Gradients that are added up one micro-batch after the other are not put off, which still frees
// the stages before from waiting for them.
TEST(PipelineTableTest, ZeroBubbleKeepsTheGradientsOfMicroBatchesApartWhereTheyMustBe) {
  TableShape shape = Stages(4, 2);
  shape.can_split.assign(shape.can_split.size(), true);
  shape.one_at_a_time = true;
  const auto bubble = [&](PipelineSchedule schedule) {
    const auto tables = MakeTables(shape, {.pipeline = 4}, 8, schedule);
    return CheckTables(shape, tables->distinct)->bubble;
  };
  const double zero = bubble(PipelineSchedule::kZeroBubble);
  EXPECT_LT(zero, 0.75 * bubble(PipelineSchedule::kOneForwardOneBackward));
  shape.one_at_a_time = false;
  EXPECT_LT(bubble(PipelineSchedule::kZeroBubble), zero);
}

// Narayanan et al., 2021, section 2.2.2: with v chunks the stages wait for (p - 1) / v of the time
// that they compute for one micro-batch. The first stage runs 2 (p - 1) + (v - 1) p passes ahead.
TEST(PipelineTableTest, ChunksDivideTheBubble) {
  for (int stages = 2; stages <= 4; ++stages) {
    for (int chunks = 2; chunks <= 3; ++chunks) {
      for (int micro_batches = stages; micro_batches <= 3 * stages; ++micro_batches) {
        const TableShape shape = Stages(stages, 2, chunks);
        const auto tables =
            MakeTables(shape, {.pipeline = stages}, micro_batches, PipelineSchedule::kInterleaved);
        ASSERT_TRUE(tables.ok()) << tables.status();
        const auto report = CheckTables(shape, tables->distinct);
        ASSERT_TRUE(report.ok()) << report.status();
        EXPECT_NEAR(report->bubble, (stages - 1.0) / (chunks * micro_batches + stages - 1.0), 1e-12)
            << stages << " stages, " << chunks << " chunks, " << micro_batches;
        if (micro_batches % stages != 0) continue;  // groups are larger
        EXPECT_EQ(MostKept(tables->distinct[0]),
                  2 * std::min((chunks + 1) * stages - 1, chunks * micro_batches));
      }
    }
  }
}

TEST(PipelineTableTest, ChunksRunAnyNumberOfMicroBatches) {
  for (int stages = 1; stages <= 5; ++stages) {
    for (int chunks = 2; chunks <= 4; ++chunks) {
      for (int micro_batches = 1; micro_batches <= 11; ++micro_batches) {
        const TableShape shape = Stages(stages, 1, chunks);
        const auto tables =
            MakeTables(shape, {.pipeline = stages}, micro_batches, PipelineSchedule::kInterleaved);
        ASSERT_TRUE(tables.ok()) << tables.status();
        const auto report = CheckTables(shape, tables->distinct);
        EXPECT_TRUE(report.ok()) << report.status();
      }
    }
  }
}

// Half of what ZB-H1 waits, and with more than two stages up to 0.8 of it, with what the first
// stage keeps with 1F1B. Qi et al., 2023, section 6, let the stages begin the next step at
// different times; here all wait for the vote.
TEST(PipelineTableTest, FoldedStagesWaitHalfAsLong) {
  for (int stages = 2; stages <= 6; ++stages) {
    for (int micro_batches = 1; micro_batches <= 13; ++micro_batches) {
      for (const bool one_at_a_time : {false, true}) {
        TableShape shape = Stages(stages, 2, 2, StageForm::kFolded);
        shape.can_split.assign(shape.can_split.size(), true);
        shape.one_at_a_time = one_at_a_time;
        const auto tables =
            MakeTables(shape, {.pipeline = stages}, micro_batches, PipelineSchedule::kZeroBubbleV);
        ASSERT_TRUE(tables.ok()) << tables.status();
        const auto report = CheckTables(shape, tables->distinct);
        ASSERT_TRUE(report.ok()) << report.status();
        // Where micro-batches are kept apart, a unit at both ends holds up the first stage.
        if (micro_batches < stages || one_at_a_time) continue;
        const double best = (stages - 1.0) / (6.0 * micro_batches + stages - 1.0);
        const double most = stages == 2 ? 1.0 : 1.6;
        EXPECT_TRUE(report->bubble <= most * best + 1e-12)
            << stages << " stages, " << micro_batches << ": " << report->bubble / best;
        for (const TaskTable& table : tables->distinct) {
          EXPECT_LE(MostKept(table), 2 * 2 * stages) << "two blocks in each chunk";
        }
      }
    }
  }
}

TEST(PipelineTableTest, EveryDivisionOfUnequalSharesPassesTheCheck) {
  for (const int stages : {1, 2, 4}) {
    for (const bool gradients : {false, true}) {
      for (const bool values : {false, true}) {
        const MeshShape mesh{.pipeline = stages, .data = 2, .shard = 2};
        for (const PipelineSchedule schedule :
             {PipelineSchedule::kOneForwardOneBackward, PipelineSchedule::kAllForwardFirst,
              PipelineSchedule::kZeroBubble, PipelineSchedule::kInterleaved,
              PipelineSchedule::kZeroBubbleV}) {
          const bool two_chunks = schedule == PipelineSchedule::kInterleaved ||
                                  schedule == PipelineSchedule::kZeroBubbleV;
          TableShape shape = Stages(stages, 3, two_chunks ? 2 : 1, FormOf(schedule));
          shape.divided = true;
          shape.gradients_divided = gradients;
          shape.values_divided = values;
          // Blocks at the ends, such as an embedding, cannot split their backward passes.
          for (int b = 1; b + 1 < shape.blocks; ++b) shape.can_split[static_cast<size_t>(b)] = true;
          const auto tables = MakeTables(shape, mesh, 7, schedule);
          ASSERT_TRUE(tables.ok()) << tables.status();
          EXPECT_EQ(tables->distinct.size(), 2u * static_cast<size_t>(stages));
          const auto report = CheckTables(shape, tables->distinct);
          EXPECT_TRUE(report.ok()) << report.status();
        }
      }
    }
  }
}

TEST(PipelineTableTest, RanksFindTheTableOfTheirStage) {
  const TableShape shape = Stages(2, 1);
  const auto tables = MakeTables(shape, {.pipeline = 2, .data = 2}, 3);
  ASSERT_TRUE(tables.ok()) << tables.status();
  EXPECT_EQ(tables->of_rank, (std::vector<int>{0, 2, 1, 3}));
  const Task& first = tables->distinct[3].front();
  EXPECT_EQ(ToString(first), "Recv(block 0, micro-batch 0, peer 2)");
}

// A pass that a stage begins before its input is there never ends.
TEST(PipelineTableTest, AStageThatWaitsForItsOwnOutputIsADeadlock) {
  const TableShape shape = Stages(2, 1);
  auto tables = MakeTables(shape, {.pipeline = 2}, 1);
  ASSERT_TRUE(tables.ok()) << tables.status();
  // The first stage waits for the gradient of micro-batch 0 before it sends its output.
  TaskTable& table = tables->distinct[0];
  const auto is = [](TaskKind kind, bool gradient) {
    return [=](const Task& task) {
      return task.kind == kind && task.micro_batch == 0 && task.gradient == gradient;
    };
  };
  const auto send = std::find_if(table.begin(), table.end(), is(TaskKind::kSend, false));
  const auto receive = std::find_if(table.begin(), table.end(), is(TaskKind::kRecv, true));
  std::rotate(send, send + 1, receive + 1);
  EXPECT_THAT(std::string(CheckTables(shape, tables->distinct).status().message()),
              testing::HasSubstr("deadlock"));
}

}  // namespace
}  // namespace muster::trainer
