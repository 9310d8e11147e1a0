// How far the planner is from steps and memory that were measured. docs/planner.md has the table.

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "planner/device_memory.h"
#include "planner/devices.h"
#include "planner/engine.h"
#include "planner/engine_memory.h"
#include "planner/memory.h"
#include "planner/model_shape.h"
#include "planner/step_time.h"
#include "tests/planner/measured_steps.h"

namespace muster::planner {
namespace {

constexpr char kFolder[] = "tests/planner/measured";

void ExpectScore(const absl::StatusOr<std::vector<MeasuredStep>>& steps, size_t rows, double mean,
                 double worst) {
  ASSERT_TRUE(steps.ok()) << steps.status();
  ASSERT_EQ(steps->size(), rows);
  const Score score = ScoreOf(*steps);
  EXPECT_TRUE(score.mean <= mean) << score.mean;
  EXPECT_TRUE(score.worst <= worst) << score.worst << " of " << score.worst_row;
}

// Calculon's error on these rows is 3.65 % in the mean and 8.87 % at worst.
TEST(Score, StepsOfSelene) { ExpectScore(SeleneSteps(kFolder), 8, 1.2, 2.6); }

// vTrain's own error on its rows is 8.37 % on one node and 14.73 % on several. A few rows with
// twice the time of their neighbours are among these.
TEST(Score, StepsOfOneNode) { ExpectScore(VTrainSteps(kFolder, /*multi=*/false), 720, 6.7, 24); }
TEST(Score, StepsOfManyNodes) { ExpectScore(VTrainSteps(kFolder, /*multi=*/true), 54, 5.5, 48); }

TEST(Score, StepsOfMusterOnOneGpu) { ExpectScore(MusterSteps(kFolder), 9, 2.3, 5); }

TEST(Score, MemoryOfSelene) {
  const auto rows = SeleneMemory(kFolder);
  ASSERT_TRUE(rows.ok()) << rows.status();
  ASSERT_EQ(rows->size(), 4u);
  const auto expect_near = [](double bytes, double gib, double percent) {
    const double error = 100 * std::abs(bytes / (gib * 1024 * 1024 * 1024) - 1);
    EXPECT_TRUE(error <= percent) << error;
  };
  for (const MeasuredMemory& row : *rows) {
    Layout layout = row.layout;
    layout.sequence_parallel = false;
    expect_near(KeptActivations(row.work, layout), row.activations_none, 0.1);
    layout.sequence_parallel = true;
    layout.recompute = Recompute::kSelective;
    expect_near(KeptActivations(row.work, layout), row.activations_selective, 0.1);
    expect_near(MeanState(row.work, layout, SeleneEngine()), row.state, 1.6);
  }
}

// Tensors of muster's trainer took 9.26 GiB on an H100 (docs/performance.md, vocabulary 128,256).
// The driver's context is beside them.
TEST(Score, MemoryOfMusterOnOneGpu) {
  const Work work{
      .shape = CompleteShape(
          {.layers = 12, .heads = 12, .width = 768, .positions = 1024, .vocabulary = 128256}),
      .sequence = 1024,
      .global_batch = 16};
  const DeviceMemory memory =
      EstimateDevice(work, {.micro_batch = 16}, *FindDevice("H100"), OptimizerKind::kAdamW);
  const double gib = static_cast<double>(memory.Total() - memory.driver) / (1 << 30);
  EXPECT_TRUE(std::abs(gib / 9.26 - 1) <= 0.05) << gib;
}

TEST(MeasuredSteps, AMissingFileIsAnError) {
  EXPECT_FALSE(SeleneSteps("tests/planner").ok());
  EXPECT_FALSE(VTrainSteps("tests/planner", true).ok());
}

}  // namespace
}  // namespace muster::planner
