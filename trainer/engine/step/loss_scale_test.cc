// Tests FP16 with a loss scale that moves: a step that overflows is skipped and halves it on every
// rank, and neither it nor a lost vote leaves a trace in the weights.

#include <atomic>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "ATen/TensorOperators.h"
#include "ATen/core/Tensor.h"
#include "ATen/ops/cat.h"
#include "ATen/ops/equal.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "gtest/gtest.h"
#include "proto/muster/v1alpha1/run_state.pb.h"
#include "trainer/comm/local_communicator.h"
#include "trainer/comm/mesh_shape.h"
#include "trainer/commit/loss_scale.h"
#include "trainer/engine/link/phase_timer.h"
#include "trainer/engine/state/training_state.h"
#include "trainer/engine/step/engine.h"
#include "trainer/engine/store/rejoin.h"
#include "trainer/engine/testing/local_groups.h"
#include "trainer/engine/testing/loud_model.h"
#include "trainer/engine/testing/solo_engine.h"
#include "trainer/engine/testing/synthetic_feed.h"
#include "trainer/engine/testing/train_ranks.h"
#include "trainer/model/block.h"

namespace muster::trainer {
namespace {

TrainingOptions Options() {
  TrainingOptions options = TinyOptions();
  options.types.compute = at::kHalf;
  return options;
}

Loudness Always(double factor) {
  return [factor](const MicroBatchContext&) { return factor; };
}

std::vector<RankResult> TrainLoud(const TrainingOptions& options, double factor,
                                  const MeshShape& mesh, int steps) {
  return TrainRanks(mesh, TinyModel(0.1).vocabulary, steps,
                    [&](int rank) { return MakeLoudRank(options, Always(factor), mesh, rank); });
}

// Returns a factor by which the gradients of the loss overflow at the first scale, but are far from
// that at half of it: a fifth less would not overflow at the first.
double Loudness() {
  static const double found = [] {
    for (double factor = 1.0; factor < 1e6; factor *= 1.25) {
      if (!TrainLoud(Options(), factor, {}, 1)[0].decisions[0].apply()) return factor;
    }
    return 0.0;
  }();
  return found;
}

TEST(LossScaleTest, AnOverflowSkipsTheStepOnEveryRankAndTheNextHasHalfTheScale) {
  const double loud = Loudness();
  ASSERT_TRUE(loud > 1.0) << loud;
  const RankResult one = TrainLoud(Options(), loud, {}, 4)[0];
  using Schedule = PipelineSchedule;
  const RankLayout kLayouts[] = {{{.data = 2}, {}},
                                 {{.shard = 2}, {.gradients = true}},
                                 {{.shard = 3}, {.values = true, .gradients = true}},
                                 {{.tensor = 2}, {}},
                                 {{.context = 2}, {}},
                                 {{.pipeline = 2}, {}},
                                 {{.pipeline = 2}, {}, Schedule::kZeroBubble},
                                 {{.pipeline = 2, .shard = 2, .tensor = 2},
                                  {.values = true, .gradients = true},
                                  Schedule::kZeroBubble}};
  for (const auto& layout : kLayouts) {
    const TrainingOptions options = OptionsUnder(layout, Options());
    const MeshShape& mesh = layout.mesh;
    SCOPED_TRACE(absl::StrCat(mesh.pipeline, " ", mesh.data, " ", mesh.shard, " ", mesh.context,
                              " ", mesh.tensor, " ", layout.schedule == Schedule::kZeroBubble));
    for (const RankResult& rank : TrainLoud(options, loud, mesh, 4)) {
      ASSERT_EQ(rank.decisions.size(), 4u);
      for (size_t i = 0; i < 4; ++i) {
        const v1alpha1::StepDecision& decision = rank.decisions[i];
        EXPECT_EQ(decision.apply(), i > 0);
        EXPECT_EQ(decision.loss_scale(), kFirstLossScale / 2);
        EXPECT_EQ(decision.good_steps(), static_cast<int64_t>(i));
        EXPECT_EQ(decision.skipped_total(), 0);
        EXPECT_TRUE(std::abs(rank.losses[i] - one.losses[i]) <= 1e-3 * one.losses[i]) << i;
        // The norm of the step that overflows is infinite.
        EXPECT_TRUE(i == 0 || std::abs(rank.norms[i] - one.norms[i]) <= 5e-3 * one.norms[i]) << i;
      }
      EXPECT_EQ(rank.decisions[0].skip_reason(),
                "gradients or loss are not finite at a loss scale of 65536");
    }
  }
}

TEST(LossScaleTest, DeterministicModeSkipsTheSameStepWithTheSameBits) {
  const double loud = Loudness();
  TrainingOptions options = Options();
  options.deterministic = true;
  const RankResult one = TrainLoud(options, loud, {}, 5)[0];
  EXPECT_FALSE(one.decisions[0].apply());
  EXPECT_TRUE(one.decisions[4].apply());
  for (const bool divided : {false, true}) {
    options.divided = {.values = divided, .gradients = divided};
    for (int world = 2; world <= 5; ++world) {
      const MeshShape mesh = divided ? MeshShape{.shard = world} : MeshShape{.data = world};
      for (const RankResult& rank : TrainLoud(options, loud, mesh, 5)) {
        EXPECT_EQ(rank.losses, one.losses) << world;
        // The first norm is not finite.
        for (size_t i = 1; i < one.norms.size(); ++i) EXPECT_EQ(rank.norms[i], one.norms[i]);
        EXPECT_EQ(rank.values, one.values) << world;
        EXPECT_EQ(rank.validation, one.validation) << world;
      }
    }
  }
}

TEST(LossScaleTest, ASkippedStepLeavesWeightsAndTheOptimizerAsTheyWere) {
  SoloEngine solo(Options());
  solo.Step();
  RunCounts counts = solo.state->counts();
  counts.loss_scale = {.scale = int64_t{1} << 40, .good_steps = 1};
  solo.state->set_counts(counts);
  const std::vector<int64_t> before = *solo.state->Digest();
  EXPECT_FALSE(solo.Step().decision.apply());
  const std::vector<int64_t> after = *solo.state->Digest();
  ASSERT_EQ(after.size(), before.size());
  for (size_t u = 0; u + 1 < before.size(); ++u) EXPECT_EQ(after[u], before[u]);
  EXPECT_NE(after.back(), before.back()) << "the counts, with the scale";
  EXPECT_EQ(solo.state->counts().loss_scale, (LossScale{int64_t{1} << 39, 0}));
  EXPECT_EQ(solo.state->counts().updates, 1);
  EXPECT_EQ(solo.state->counts().samples, 20);
  EXPECT_EQ(solo.state->counts().skipped, SkippedSteps{});
}

// The rank lost the vote. It divides its gradients by the scale that they have, and not by that of
// the next step, which the decision tells it.
TEST(LossScaleTest, ARelayedDecisionUnscalesByTheScaleOfItsStep) {
  for (const LossScale& before : {LossScale{1 << 10, kGoodStepsToDouble - 1},  // doubles
                                  LossScale{int64_t{1} << 40, 5}}) {           // overflows
    SoloEngine cut(Options(), 0.1), calm(Options(), 0.1);
    for (SoloEngine* solo : {&cut, &calm}) solo->state->set_counts({.loss_scale = before});
    cut.communicator->Abort("test");
    EXPECT_FALSE(cut.engine.Step({}).ok());
    ASSERT_TRUE(cut.state->commit().sealed().has_value());
    EXPECT_EQ(cut.state->counts().loss_scale, before);
    const v1alpha1::StepDecision decision = calm.Step().decision;
    EXPECT_NE(decision.loss_scale(), before.scale);
    cut.communicator = std::move(MakeLocalCommunicators({})[0]);
    cut.GoOn(decision);
    ExpectEqualState(*cut.state, *calm.state);
    EXPECT_EQ(cut.state->counts(), calm.state->counts());
    EXPECT_EQ(cut.Step().decision.loss(), calm.Step().decision.loss());
    ExpectEqualState(*cut.state, *calm.state);
  }
}

// Returns the gradients of the first step of a quiet loss, one after the other.
at::Tensor Gradients(at::ScalarType compute, int64_t scale) {
  TrainingOptions options = TinyOptions();
  options.types.compute = compute;
  const auto state = MakeLoudRank(options, Always(1.0 / 1024), {}, 0);
  state->set_counts({.loss_scale = {.scale = scale}});
  const LocalGroups alone({});
  const std::atomic<bool> interrupt = false;
  PhaseTimer timer(Clock::Real(), Phase::kOther);
  SyntheticFeed feed(options, TinyModel(0.1).vocabulary);
  Engine engine(*state, feed, timer, interrupt);
  EXPECT_TRUE(engine.BeginAlone(alone.Of(0)).ok());
  const absl::Status computed = engine.ComputeGradients();
  EXPECT_TRUE(computed.ok()) << computed;
  std::vector<at::Tensor> flat;
  for (const NamedTensor& gradient : state->Gradients()) {
    flat.push_back(gradient.tensor.reshape({-1}).to(at::kDouble));
  }
  return at::cat(flat);
}

TEST(LossScaleTest, GradientsAreThoseOfFp32AndWorseWithoutAScale) {
  const at::Tensor exact = Gradients(at::kFloat, 1);
  const auto error = [&](int64_t scale) {
    return (Gradients(at::kHalf, scale) - exact).norm().div(exact.norm()).item<double>();
  };
  const double scaled = error(kFirstLossScale), plain = error(1);
  EXPECT_TRUE(scaled <= 2e-3) << scaled;
  EXPECT_TRUE(plain >= 3 * scaled) << plain << " " << scaled;
  // In FP32 nothing vanishes, and a power of two changes no bit.
  EXPECT_TRUE(at::equal(Gradients(at::kFloat, kFirstLossScale), exact));
}

}  // namespace
}  // namespace muster::trainer
