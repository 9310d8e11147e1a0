// Tests that ranks that share a device, and exchange tensors through the host's memory, train a
// model that they divide as one rank of that device does. The variable MUSTER_TEST_GPUS is 1 for
// the first card; by default the device is the CPU.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "c10/core/Device.h"
#include "gtest/gtest.h"
#include "planner/model_shape.h"
#include "tests/gpu/use_device.h"
#include "trainer/comm/mesh_shape.h"
#include "trainer/comm/staged_communicator.h"
#include "trainer/engine/state/training_state.h"
#include "trainer/engine/testing/synthetic_feed.h"
#include "trainer/engine/testing/train_ranks.h"
#include "trainer/model/sequence_order.h"

namespace muster::trainer {
namespace {

using planner::ModelFamily;

constexpr int kSteps = 4;

std::string DeviceName() {
  const char* const gpus = std::getenv("MUSTER_TEST_GPUS");
  return gpus == nullptr || std::atoi(gpus) == 0 ? "cpu" : "cuda";
}

planner::ModelShape Shape(ModelFamily family) {
  planner::ModelShape shape = {
      .family = family, .layers = 3, .heads = 4, .width = 128, .positions = 64, .vocabulary = 301};
  if (family == ModelFamily::kLlama) {
    shape.key_value_heads = 2;
    shape.feed_forward_width = 192;
    shape.tied_head = false;
  }
  return shape;
}

std::unique_ptr<TrainingState> MakeRank(const planner::ModelShape& shape, TrainingOptions options,
                                        const MeshShape& mesh, int rank) {
  // Each rank is a thread, and a device is a thread's.
  const auto device = UseDevice(DeviceName());
  EXPECT_TRUE(device.ok()) << device.status();
  if (!device.ok()) return nullptr;
  options.device = *device;
  return MakeRankState(shape, options, mesh, rank);
}

struct Case {
  const char* name;
  MeshShape mesh;
  ContextExchange exchange = ContextExchange::kHeads;
  PipelineSchedule schedule = PipelineSchedule::kOneForwardOneBackward;
  bool zero3 = false;
};

const Case kCases[] = {
    {"tensor 2", {.tensor = 2}},
    {"context 2 by heads", {.context = 2}},
    {"context 2 in a ring", {.context = 2}, ContextExchange::kRing},
    {"pipeline 2, zero bubble",
     {.pipeline = 2},
     ContextExchange::kHeads,
     PipelineSchedule::kZeroBubble},
    {"pipeline 2, interleaved",
     {.pipeline = 2},
     ContextExchange::kHeads,
     PipelineSchedule::kInterleaved},
    {"pipeline 2, zero bubble of folded stages",
     {.pipeline = 2},
     ContextExchange::kHeads,
     PipelineSchedule::kZeroBubbleV},
    {"ZeRO 3 of 2 x tensor 2",
     {.shard = 2, .tensor = 2},
     ContextExchange::kHeads,
     PipelineSchedule::kOneForwardOneBackward,
     true},
};

struct Types {
  const char* name;
  at::ScalarType compute;
  // The largest relative distance of a loss. Sums in another order differ by rounding, which steps
  // make larger.
  double bound;
};

const Types kTypes[] = {{"FP32", at::kFloat, 1e-4}, {"BF16", at::kBFloat16, 1e-2}};

TEST(DividedTest, RanksThatShareADeviceTrainAsOneDoes) {
  for (const auto& [family, of] :
       {std::pair{ModelFamily::kGpt2, "GPT-2"}, std::pair{ModelFamily::kLlama, "LLaMA"},
        std::pair{ModelFamily::kBloom, "BLOOM"}}) {
    const planner::ModelShape shape = Shape(family);
    for (const Types& types : kTypes) {
      // A CPU multiplies BF16 slowly, and tests/parity has it there.
      if (DeviceName() == "cpu" && types.compute != at::kFloat) continue;
      TrainingOptions options = TinyOptions();
      options.sequence = 64;
      options.types.compute = types.compute;
      const auto train = [&](const MeshShape& mesh) {
        return TrainRanks(
            mesh, shape.vocabulary, kSteps,
            [&](int rank) { return MakeRank(shape, options, mesh, rank); },
            &MakeStagedCommunicator);
      };
      const RankResult one = train({})[0];
      ASSERT_EQ(one.losses.size(), size_t{kSteps});
      EXPECT_LT(one.losses.back(), one.losses.front());
      for (const Case& c : kCases) {
        SCOPED_TRACE(absl::StrCat(of, " in ", types.name, ", ", c.name));
        options.context_exchange = c.exchange;
        options.pipeline_schedule = c.schedule;
        options.chunks = FewestChunks(c.schedule);
        options.divided = {.values = c.zero3, .gradients = c.zero3};
        double worst = 0.0;
        for (const RankResult& result : train(c.mesh)) {
          ASSERT_EQ(result.losses.size(), one.losses.size());
          for (size_t i = 0; i < one.losses.size(); ++i) {
            const double distance = std::abs(result.losses[i] / one.losses[i] - 1.0);
            EXPECT_TRUE(distance <= types.bound) << "step " << i + 1 << ": " << distance;
            worst = std::max(worst, distance);
          }
        }
        std::cout << of << " in " << types.name << ", " << c.name << ": losses within " << worst
                  << std::endl;
      }
      options.divided = {};
      options.chunks = 1;
    }
  }
}

}  // namespace
}  // namespace muster::trainer
