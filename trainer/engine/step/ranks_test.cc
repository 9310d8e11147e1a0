// Tests, with several ranks as threads, the results that must not depend on how many there are.

#include <atomic>
#include <set>
#include <thread>
#include <vector>

#include "ATen/ops/equal.h"
#include "base/clock.h"
#include "gtest/gtest.h"
#include "planner/model_presets.h"
#include "trainer/comm/local_communicator.h"
#include "trainer/engine/link/phase_timer.h"
#include "trainer/engine/step/engine.h"
#include "trainer/engine/testing/synthetic_feed.h"
#include "trainer/engine/testing/train_ranks.h"

namespace muster::trainer {
namespace {

// Trains `steps` steps on `world` ranks; returns the results of each rank.
std::vector<RankResult> Train(const TrainingOptions& options, int world, int steps,
                              const planner::ModelShape& model = TinyModel(0.1)) {
  return TrainRanks({.data = world}, model.vocabulary, steps,
                    [&](int) { return MakeState(options, model); });
}

TEST(RanksTest, DeterministicModeIsBitwiseEqualOnOneToFiveRanksWithDropout) {
  for (const int64_t micro_batches : {5, 8}) {
    TrainingOptions options = TinyOptions();
    options.deterministic = true;
    options.micro_batches = micro_batches;
    const RankResult one = Train(options, 1, 12)[0];
    EXPECT_LT(one.losses.back(), one.losses.front());
    for (int world = 2; world <= 5; ++world) {
      for (const RankResult& result : Train(options, world, 12)) {
        EXPECT_EQ(result.losses, one.losses) << world;
        EXPECT_EQ(result.norms, one.norms) << world;
        EXPECT_EQ(result.validation, one.validation) << world;
        EXPECT_EQ(result.digest, one.digest) << world;
      }
    }
  }
}

TEST(RanksTest, EveryFamilyIsBitwiseEqualToo) {
  TrainingOptions options = TinyOptions();
  options.deterministic = true;
  std::set<planner::ModelFamily> families;
  for (const planner::ModelPreset& preset : planner::ModelPresets()) {
    // Each family's first preset is its smallest.
    if (!families.insert(preset.shape.family).second) continue;
    planner::ModelShape model = preset.shape;
    model.vocabulary = 61;
    model.dropout = 0.1;
    const RankResult one = Train(options, 1, 6, model)[0];
    EXPECT_LT(one.losses.back(), one.losses.front()) << preset.name;
    for (const RankResult& result : Train(options, 3, 6, model)) {
      EXPECT_EQ(result.digest, one.digest) << preset.name;
      EXPECT_EQ(result.losses, one.losses) << preset.name;
    }
  }
}

TEST(RanksTest, NarrowTypesAreBitwiseEqualToo) {
  for (const auto type : {at::kBFloat16, at::kHalf}) {
    TrainingOptions options = TinyOptions();
    options.deterministic = true;
    options.types.compute = type;
    const RankResult one = Train(options, 1, 6)[0];
    for (const RankResult& result : Train(options, 3, 6)) EXPECT_EQ(result.digest, one.digest);
  }
}

// A scale is of one micro-batch's numbers, and does not depend on who has the others.
TEST(RanksTest, Fp8IsBitwiseEqualToo) {
  for (const bool divided : {false, true}) {
    TrainingOptions options = TinyOptions();
    options.deterministic = true;
    options.micro_batches = 5;
    options.types = {at::kFloat, at::kBFloat16, /*fp8=*/true};
    const RankResult one = TrainTinyRanks(options, {}, 6)[0];
    EXPECT_LT(one.losses.back(), one.losses.front());
    options.divided = {.values = divided, .gradients = divided};
    for (int world = 2; world <= 5; ++world) {
      const MeshShape mesh = divided ? MeshShape{.shard = world} : MeshShape{.data = world};
      for (const RankResult& result : TrainTinyRanks(options, mesh, 6)) {
        EXPECT_EQ(result.losses, one.losses) << world;
        EXPECT_EQ(result.norms, one.norms) << world;
        EXPECT_EQ(result.validation, one.validation) << world;
        EXPECT_EQ(result.values, one.values) << world;
      }
    }
  }
}

TEST(RanksTest, FastModeKeepsRanksEqualAndTheCurveEqualToRounding) {
  const TrainingOptions options = TinyOptions();
  const RankResult one = Train(options, 1, 12)[0];
  for (int world = 2; world <= 5; ++world) {
    const std::vector<RankResult> results = Train(options, world, 12);
    for (const RankResult& result : results) {
      EXPECT_EQ(result.digest, results[0].digest);
      for (size_t i = 0; i < one.losses.size(); ++i) {
        EXPECT_NEAR(result.losses[i], one.losses[i], 1e-4 * one.losses[i]);
      }
    }
  }
}

TEST(RanksTest, RanksWithDifferentSpecsFailTheVoteAndApplyNothing) {
  auto communicators = MakeLocalCommunicators({.size = 2});
  std::vector<std::thread> threads;
  for (int r = 0; r < 2; ++r) {
    threads.emplace_back([&, r] {
      TrainingOptions options = TinyOptions();
      options.trajectory = 100 + static_cast<uint64_t>(r);
      options.schedule.peak *= 1 + 99 * r;
      const std::atomic<bool> interrupt = false;
      PhaseTimer timer(Clock::Real(), Phase::kOther);
      auto state = MakeTinyState(options, 0.0);
      SyntheticFeed feed(options, TinyModel(0.0).vocabulary);
      Engine engine(*state, feed, timer, interrupt);
      ASSERT_TRUE(engine.BeginAlone(*communicators[static_cast<size_t>(r)]).ok());
      EXPECT_EQ(engine.Step({}).status().message(),
                "ranks train by different specs: the votes on this step carry different digests, "
                "and nothing was applied");
      EXPECT_EQ(state->applied()->step(), 0);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(RanksTest, MoreRanksThanMicroBatchesAreRefused) {
  const TrainingOptions options = TinyOptions();
  auto communicators = MakeLocalCommunicators({.size = 6});
  const std::atomic<bool> interrupt = false;
  PhaseTimer timer(Clock::Real(), Phase::kOther);
  auto state = MakeTinyState(options, 0.0);
  SyntheticFeed feed(options, 61);
  Engine engine(*state, feed, timer, interrupt);
  EXPECT_EQ(engine.BeginAlone(*communicators[0]).message(),
            "6 ranks for 5 micro-batches: a rank would have none");
}

TEST(RanksTest, DeterministicExtraBytesCountsNodesBeyondOnePerRank) {
  EXPECT_EQ(DeterministicExtraBytes(100, 8, 4), 0);
  EXPECT_EQ(DeterministicExtraBytes(100, 8, 2), 0);
  // 0-2, 2-5, 5-8 of 8: one node, two nodes, two nodes.
  EXPECT_EQ(DeterministicExtraBytes(100, 8, 3), 200);
}

}  // namespace
}  // namespace muster::trainer
