// Tests steps of an optimizer that prepares its update together with the other ranks: it is defined
// here, and the engine does not know it.

#include <atomic>
#include <cmath>
#include <memory>
#include <vector>

#include "ATen/ops/empty_like.h"
#include "ATen/ops/full.h"
#include "ATen/ops/isfinite.h"
#include "base/status_macros.h"
#include "gtest/gtest.h"
#include "trainer/engine/store/rejoin.h"
#include "trainer/engine/testing/solo_engine.h"
#include "trainer/engine/testing/train_ranks.h"
#include "trainer/offload/memory_state_files.h"
#include "trainer/optim/schedule.h"

namespace muster::trainer {
namespace {

// Set to interrupt the engine as soon as an update is prepared.
std::atomic<bool>* interrupt_when_prepared = nullptr;

// Moves the weights against the gradient by steps whose largest element, over all ranks, is the
// learning rate.
class LargestStep final : public Optimizer {
 public:
  explicit LargestStep(std::vector<OptimizerUnit> units) : units_(std::move(units)) {
    for (const OptimizerUnit& unit : units_) scratch_.push_back(at::empty_like(unit.values));
  }

  void Configure(const OptimizerOptions&) override {}
  bool has_prepare() const override { return true; }
  absl::StatusOr<bool> Prepare(const UpdateOptions& options,
                               const OptimizerContext& context) override {
    double largest = 1e-30;
    for (const OptimizerUnit& unit : units_) {
      if (unit.gradients.numel() == 0) continue;
      largest = std::max(largest, unit.gradients.abs().max().item<double>());
    }
    at::Tensor most = at::full({1}, largest, at::kDouble);
    MUSTER_RETURN_IF_ERROR(
        context.world->AllReduce(most, ReduceOp::kMax, "largest gradient")->Wait());
    const double scale = -options.learning_rate / most.item<double>();
    bool finite = true;
    for (size_t u = 0; u < units_.size(); ++u) {
      scratch_[u].copy_(units_[u].gradients).mul_(scale);
      finite = finite && at::isfinite(scratch_[u]).all().item<bool>();
    }
    if (interrupt_when_prepared != nullptr) *interrupt_when_prepared = true;
    return finite;
  }
  void Apply(int unit, const UpdateOptions&) override {
    const auto u = static_cast<size_t>(unit);
    units_[u].values.add_(scratch_[u]);
  }
  const std::vector<std::string>& state_names() const override { return no_names_; }
  std::vector<at::Tensor> state(int) const override { return {}; }

 private:
  const std::vector<std::string> no_names_;
  std::vector<OptimizerUnit> units_;
  std::vector<at::Tensor> scratch_;
};

TrainingOptions LargestStepOptions() {
  TrainingOptions options = TinyOptions();
  options.deterministic = true;
  options.optimizer.make = [](const OptimizerOptions&, std::vector<OptimizerUnit> units) {
    return std::unique_ptr<Optimizer>(std::make_unique<LargestStep>(std::move(units)));
  };
  return options;
}

std::vector<RankResult> Train(const TrainingOptions& options, const MeshShape& mesh, int steps) {
  std::vector<MemoryStateFiles> disks(static_cast<size_t>(mesh.size()));
  return TrainTinyRanks(options, mesh, steps,
                        [&](int rank) { return &disks[static_cast<size_t>(rank)]; });
}

TEST(PreparedUpdateTest, EveryLayoutAppliesWhatAllRanksPreparedTogether) {
  const RankResult one = Train(LargestStepOptions(), {}, 8)[0];
  EXPECT_LT(one.losses.back(), one.losses.front());
  for (const MeshShape& mesh : {MeshShape{.data = 3}, {.shard = 2}, {.data = 2, .shard = 2}}) {
    for (const RankResult& result : Train(LargestStepOptions(), mesh, 8)) {
      EXPECT_EQ(result.losses, one.losses) << mesh.data << " x " << mesh.shard;
      EXPECT_EQ(result.values, one.values) << mesh.data << " x " << mesh.shard;
    }
  }
}

TEST(PreparedUpdateTest, WeightsThatRestInFilesAreThereWhileTheUpdateIsPreparedAndApplied) {
  const RankResult want = Train(LargestStepOptions(), {}, 8)[0];
  TrainingOptions options = LargestStepOptions();
  options.divided.values = true;
  options.offload = {.optimizer = true, .weights = true, .directory = "disk"};
  const RankResult one = Train(options, {}, 8)[0];
  EXPECT_EQ(one.losses, want.losses);
  EXPECT_EQ(one.digest, want.digest);
  for (const RankResult& result : Train(options, {.shard = 2}, 8)) {
    EXPECT_EQ(result.losses, want.losses);
  }
}

TEST(PreparedUpdateTest, AnUpdateThatIsNotFiniteIsSkippedAndCounted) {
  TrainingOptions options = LargestStepOptions();
  SoloEngine solo(options);
  solo.Step();
  options.schedule = {.rate = &ConstantRate, .peak = 1e300};
  ASSERT_TRUE(solo.state->Configure(options).ok());
  const std::vector<int64_t> before = *solo.state->Digest();
  const StepOutcome outcome = solo.Step();
  EXPECT_FALSE(outcome.decision.apply());
  EXPECT_EQ(outcome.decision.skip_reason(), "the update is not finite");
  EXPECT_EQ(solo.state->counts().skipped.in_row, 1);
  EXPECT_EQ(solo.state->applied()->step(), 2);
  EXPECT_EQ((*solo.state->Digest())[0], before[0]);
}

TEST(PreparedUpdateTest, APreparedUpdateIsAppliedByARelayedDecision) {
  SoloEngine want(LargestStepOptions());
  want.Losses(2);
  SoloEngine solo(LargestStepOptions());
  solo.Step();
  interrupt_when_prepared = &solo.interrupt;
  EXPECT_EQ(solo.engine.Step({}).status().message(), "interrupted before Confirm()");
  interrupt_when_prepared = nullptr;
  solo.interrupt = false;
  EXPECT_EQ(solo.state->Position().sealed().step(), 2);
  EXPECT_EQ(solo.state->applied()->step(), 1);
  const v1alpha1::StepDecision decision = solo.state->commit().voted();
  solo.GoOn(decision);
  EXPECT_EQ(solo.state->applied()->step(), 2);
  ExpectEqualState(*solo.state, *want.state);
}

}  // namespace
}  // namespace muster::trainer
