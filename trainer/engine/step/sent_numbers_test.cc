// Tests runs whose ranks send each other rounded gradients and weights: they train like those that
// round nothing, and ranks that should hold the same do.

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "gtest/gtest.h"
#include "trainer/comm/mesh_shape.h"
#include "trainer/engine/link/sent_numbers.h"
#include "trainer/engine/state/training_state.h"
#include "trainer/engine/step/engine.h"
#include "trainer/engine/testing/synthetic_feed.h"
#include "trainer/engine/testing/train_ranks.h"
#include "trainer/optim/schedule.h"

namespace muster::trainer {
namespace {

constexpr Division kZero2 = {.gradients = true};
constexpr Division kZero3 = {.values = true, .gradients = true};
const RankLayout kLayouts[] = {
    {{.data = 3}},
    {{.shard = 2}},
    {{.data = 2, .shard = 2}, kZero2},
    {{.data = 2, .shard = 2}, kZero3},
    {{.data = 2, .tensor = 2}},
    {{.pipeline = 2, .shard = 2, .context = 2}, kZero3, PipelineSchedule::kZeroBubble}};

std::vector<RankResult> Train(const RankLayout& layout, const CommunicationOptions& communication,
                              int steps = 8) {
  TrainingOptions options = TinyOptions();
  options.communication = communication;
  return TrainLayout(layout, options, steps);
}

TEST(SentNumbersTest, EveryLayoutTrainsLikeOneThatRoundsNothing) {
  const struct {
    SentNumbers gradients;
    double limit;  // of losses and norms, relative
  } kSent[] = {{SentNumbers::kBf16, 1e-3}, {SentNumbers::kInt8, 5e-3}};
  for (const RankLayout& layout : kLayouts) {
    const RankResult exact = Train(layout, {})[0];
    for (const auto& sent : kSent) {
      SCOPED_TRACE(NameOf(layout.mesh, layout.divided));
      const bool divides = layout.divided.values;
      for (const RankResult& rank :
           Train(layout, {sent.gradients, divides ? SentNumbers::kBf16 : SentNumbers::kWhole})) {
        ASSERT_EQ(rank.losses.size(), 8u);
        EXPECT_NE(rank.norms, exact.norms) << "something is rounded";
        for (size_t i = 0; i < 8; ++i) {
          EXPECT_TRUE(std::abs(rank.losses[i] - exact.losses[i]) <= sent.limit * exact.losses[i])
              << rank.losses[i] << " " << exact.losses[i];
          EXPECT_TRUE(std::abs(rank.norms[i] - exact.norms[i]) <= 10 * sent.limit * exact.norms[i])
              << rank.norms[i] << " " << exact.norms[i];
        }
      }
    }
  }
}

TEST(SentNumbersTest, RanksThatHoldTheSameHaveTheSameBitsAndSoHasASecondRun) {
  for (const SentNumbers gradients : {SentNumbers::kBf16, SentNumbers::kInt8}) {
    for (const MeshShape& mesh : {MeshShape{.data = 3}, MeshShape{.data = 2, .shard = 2}}) {
      const std::vector<RankResult> ranks = Train({mesh}, {gradients}, 4);
      for (const RankResult& rank : ranks) EXPECT_EQ(rank.values, ranks[0].values);
      EXPECT_EQ(Train({mesh}, {gradients}, 4)[0].values, ranks[0].values);
    }
  }
}

// Each rank keeps its own weights in FP32, whatever it sends: after many small updates, which BF16
// would lose one by one, they have moved.
TEST(SentNumbersTest, DividedWeightsAreSentInBf16AndKeptInFp32) {
  TrainingOptions options = TinyOptions();
  options.divided = kZero3;
  options.schedule = {.rate = &ConstantRate, .peak = 1e-7};
  const auto train = [&](const MeshShape& mesh, SentNumbers weights) {
    options.communication.weights = weights;
    return TrainRanks(mesh, TinyModel(0.1).vocabulary, 3,
                      [&](int rank) { return MakeRankState(TinyModel(0.1), options, mesh, rank); });
  };
  const RankResult three = train({.shard = 3}, SentNumbers::kBf16)[0];
  EXPECT_NE(three.losses, train({.shard = 3}, SentNumbers::kWhole)[0].losses);
  for (const RankResult& rank : train({.shard = 2}, SentNumbers::kBf16)) {
    for (size_t i = 0; i < 3; ++i) {
      EXPECT_TRUE(std::abs(rank.losses[i] - three.losses[i]) <= 1e-5 * three.losses[i]) << i;
    }
  }
  // Weights that were kept in BF16 would not move by 1e-7.
  const RankResult start = TrainRanks({.shard = 3}, TinyModel(0.1).vocabulary, 0, [&](int rank) {
    return MakeRankState(TinyModel(0.1), options, {.shard = 3}, rank);
  })[0];
  ASSERT_EQ(start.values.size(), three.values.size());
  for (size_t u = 0; u < start.values.size(); ++u) EXPECT_NE(start.values[u], three.values[u]);
}

}  // namespace
}  // namespace muster::trainer
