// Tests steps that break off, by an interrupt, a lost round or an exception of LibTorch, and the
// state that they leave.
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ATen/core/Tensor.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "c10/util/Exception.h"
#include "gtest/gtest.h"
#include "trainer/comm/communicator.h"
#include "trainer/comm/local_communicator.h"
#include "trainer/commit/commit_machine.h"
#include "trainer/engine/step/engine.h"
#include "trainer/engine/testing/forwarding_communicator.h"
#include "trainer/engine/testing/solo_engine.h"
#include "trainer/engine/testing/synthetic_feed.h"
#include "trainer/optim/optimizer.h"

namespace muster::trainer {
namespace {

TEST(EngineTest, AnInterruptEndsTheStepAndTheNextTryIsUndisturbed) {
  SoloEngine disturbed(TinyOptions(), 0.1), calm(TinyOptions(), 0.1);
  disturbed.Step();
  disturbed.interrupt = true;
  EXPECT_EQ(disturbed.engine.Step({}).status().code(), absl::StatusCode::kAborted);
  EXPECT_EQ(disturbed.state->applied()->step(), 1);
  disturbed.interrupt = false;
  disturbed.GoOn({});
  disturbed.Step();
  calm.Losses(2);
  ExpectEqualState(*disturbed.state, *calm.state);
}

TEST(EngineTest, AnAbortedVoteLeavesSealedGradientsThatARelayedDecisionApplies) {
  SoloEngine cut(TinyOptions(), 0.1), calm(TinyOptions(), 0.1);
  cut.communicator->Abort("test");
  EXPECT_FALSE(cut.engine.Step({}).ok());
  ASSERT_TRUE(cut.state->commit().sealed().has_value());
  EXPECT_EQ(cut.state->commit().sealed()->step(), 1);
  EXPECT_EQ(cut.state->applied()->step(), 0);
  const v1alpha1::StepDecision decision = calm.Step().decision;
  cut.communicator = std::move(MakeLocalCommunicators({})[0]);
  cut.GoOn(decision);
  ExpectEqualState(*cut.state, *calm.state);
  EXPECT_EQ(cut.state->Apply().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(cut.Step().decision.loss(), calm.Step().decision.loss());
}

TEST(EngineTest, SealedGradientsAreAppliedWithTheOptionsTheyWereComputedWith) {
  SoloEngine cut(TinyOptions(), 0.1), calm(TinyOptions(), 0.1);
  cut.communicator->Abort("test");
  EXPECT_FALSE(cut.engine.Step({}).ok());
  const v1alpha1::StepDecision decision = calm.Step().decision;
  TrainingOptions edited = TinyOptions();
  edited.micro_batches = 7;
  edited.schedule.peak *= 100;
  edited.optimizer.beta1 = 0.1;
  edited.optimizer.weight_decay = 5.0;
  ASSERT_TRUE(cut.state->Configure(edited).ok());
  cut.communicator = std::move(MakeLocalCommunicators({})[0]);
  cut.GoOn(decision);
  ExpectEqualState(*cut.state, *calm.state);
  EXPECT_EQ(cut.Step().learning_rate, edited.schedule.At(2));
  EXPECT_EQ(cut.state->counts().samples, 10 + 14);
}

// Throws as LibTorch does when it has no memory.
class ThrowingCommunicator final : public ForwardingCommunicator {
 public:
  ThrowingCommunicator(Communicator& inner, std::string label)
      : ForwardingCommunicator(inner), label_(std::move(label)) {}
  std::unique_ptr<Pending> AllReduce(at::Tensor tensor, ReduceOp op,
                                     std::string_view label) override {
    TORCH_CHECK(label != label_, "no memory for ", label_);
    return ForwardingCommunicator::AllReduce(std::move(tensor), op, label);
  }

 private:
  const std::string label_;
};

TEST(EngineTest, AnExceptionOfLibTorchInTheVoteOrInValidationIsAnErrorThatNamesThePlace) {
  for (const auto& [label, where] :
       {std::pair{"vote", "Vote() of step 1"}, std::pair{"validation", "validation"}}) {
    SoloEngine solo(TinyOptions());
    ThrowingCommunicator throwing(*solo.communicator, label);
    solo.GoOn({});
    ASSERT_TRUE(solo.engine.BeginRound(throwing).ok());
    const absl::Status status = std::string(label) == "vote" ? solo.engine.Step({}).status()
                                                             : solo.engine.Validate(2).status();
    EXPECT_EQ(status, absl::UnknownError(absl::StrCat(where, ": no memory for ", label)));
    EXPECT_EQ(solo.state->applied()->step(), 0);
  }
}

// Makes the next write to a tensor throw: LibTorch refuses to write through one whose elements
// share memory.
void Spoil(at::Tensor tensor) { tensor.as_strided_(tensor.sizes(), {0}); }

// Moves the values against the gradients. The write to the second unit throws.
class BreaksAtTheSecondUnit final : public Optimizer {
 public:
  explicit BreaksAtTheSecondUnit(std::vector<OptimizerUnit> units) : units_(std::move(units)) {}

  void Configure(const OptimizerOptions&) override {}
  void Apply(int unit, const UpdateOptions& options) override {
    const OptimizerUnit& applied = units_[static_cast<size_t>(unit)];
    const at::Tensor values = applied.values.narrow(0, 0, applied.values.numel());
    if (unit == 1) Spoil(values);
    values.sub_(applied.gradients, options.learning_rate);
  }
  const std::vector<std::string>& state_names() const override { return no_names_; }
  std::vector<at::Tensor> state(int) const override { return {}; }

 private:
  const std::vector<std::string> no_names_;
  const std::vector<OptimizerUnit> units_;
};

TEST(EngineTest, AnExceptionOfLibTorchInTheReducerIsAnErrorThatNamesThePlace) {
  TrainingOptions options = TinyOptions();
  options.deterministic = true;
  SoloEngine solo(options);
  solo.Step();
  Spoil(solo.state->units()[1].gradients());
  const absl::Status status = solo.engine.Step({}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnknown);
  EXPECT_EQ(std::string(status.message()).find("Reduce(unit 1) of step 2: unsupported operation"),
            0u)
      << status;
  EXPECT_EQ(solo.state->applied()->step(), 1) << "nothing was written";
}

TEST(EngineTest, AnExceptionOfLibTorchBetweenTwoWritesLosesTheWeightsWithoutACrash) {
  TrainingOptions options = TinyOptions();
  options.optimizer.make = [](const OptimizerOptions&, std::vector<OptimizerUnit> units) {
    return std::unique_ptr<Optimizer>(std::make_unique<BreaksAtTheSecondUnit>(std::move(units)));
  };
  SoloEngine solo(options);
  CommitMachine& commit = solo.state->commit();
  ASSERT_TRUE(solo.engine.ComputeGradients().ok());
  ASSERT_TRUE(commit.BeginStep().ok());
  ASSERT_TRUE(solo.state->Seal().ok());
  ASSERT_TRUE(commit.VoteSent().ok());
  v1alpha1::StepDecision decision;
  *decision.mutable_version() = commit.next();
  decision.set_apply(true);
  decision.set_valid_tokens(options.nominal_tokens());
  decision.set_clip_factor(0.5);
  ASSERT_TRUE(commit.Decide(decision).ok());
  const absl::Status status = solo.state->Apply();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnknown);
  EXPECT_EQ(std::string(status.message()).find("applying step 1: unsupported operation"), 0u)
      << status;
  EXPECT_FALSE(solo.state->applied().has_value()) << "torn weights are nobody's donor";
}

}  // namespace
}  // namespace muster::trainer
