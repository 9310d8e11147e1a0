#include "trainer/engine/engine.h"

#include <atomic>
#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ATen/TensorOperators.h"
#include "ATen/ops/arange.h"
#include "ATen/ops/equal.h"
#include "ATen/ops/full.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "c10/util/Exception.h"
#include "gtest/gtest.h"
#include "torch/csrc/autograd/autograd.h"
#include "trainer/comm/communicator.h"
#include "trainer/comm/local_communicator.h"
#include "trainer/engine/phase_timer.h"
#include "trainer/engine/testing/synthetic_feed.h"

namespace muster::trainer {
namespace {

// One rank with its engine.
struct Solo {
  explicit Solo(const TrainingOptions& options, double dropout = 0.0)
      : state(MakeTinyState(options, dropout)),
        feed(options, TinyGpt2(dropout).vocabulary),
        communicator(std::move(MakeLocalCommunicators({})[0])),
        engine(*state, feed, timer, interrupt) {
    EXPECT_TRUE(engine.BeginAlone(*communicator).ok());
  }
  StepOutcome Step() {
    auto outcome = engine.Step({});
    EXPECT_TRUE(outcome.ok()) << outcome.status();
    return *outcome;
  }
  // Begins a new round from the live state, after `relay` if it holds a decision.
  void GoOn(const v1alpha1::StepDecision& relay) {
    v1alpha1::RoundId round;
    round.set_round(state->commit().round().round() + 1);
    ASSERT_TRUE(state->commit().Prepare(round).ok());
    v1alpha1::ResumePoint resume;
    resume.set_source(v1alpha1::ResumePoint::LIVE);
    resume.set_next_attempt(1);
    *resume.mutable_version() = *state->applied();
    if (relay.has_version()) {
      *resume.mutable_version() = relay.version();
      *resume.mutable_relay() = relay;
    }
    auto plan = state->commit().Go(round, 0, resume);
    ASSERT_TRUE(plan.ok()) << plan.status();
    if (plan->action == RestorePlan::Action::kApplyRelay) ASSERT_TRUE(state->Apply().ok());
    ASSERT_TRUE(engine.BeginRound(*communicator).ok());
  }
  std::vector<double> Losses(int steps) {
    std::vector<double> losses;
    for (int i = 0; i < steps; ++i) losses.push_back(Step().decision.loss());
    return losses;
  }

  std::atomic<bool> interrupt = false;
  PhaseTimer timer{Clock::Real(), Phase::kOther};
  std::unique_ptr<TrainingState> state;
  SyntheticFeed feed;
  std::unique_ptr<Communicator> communicator;
  Engine engine;
};

void ExpectEqualState(const TrainingState& a, const TrainingState& b) {
  EXPECT_EQ(a.Digest(), b.Digest());
  const auto of_a = a.FlatTensors(), of_b = b.FlatTensors();
  for (size_t i = 0; i < of_a.size(); ++i) {
    EXPECT_TRUE(at::equal(of_a[i].tensor, of_b[i].tensor)) << of_a[i].name;
  }
}

TEST(EngineTest, LossFallsInEveryPrecision) {
  for (const auto& types :
       {PrecisionTypes{at::kFloat, at::kFloat}, PrecisionTypes{at::kFloat, at::kBFloat16},
        PrecisionTypes{at::kDouble, at::kDouble}}) {
    TrainingOptions options = TinyOptions();
    options.types = types;
    Solo solo(options, 0.1);
    const std::vector<double> losses = solo.Losses(60);
    EXPECT_NEAR(losses.front(), std::log(61.0), 0.15);
    EXPECT_LT(losses.back(), 0.6 * losses.front()) << types.compute;
    EXPECT_EQ(solo.state->applied()->step(), 60);
    const auto validation = solo.engine.Validate(3);
    ASSERT_TRUE(validation.ok()) << validation.status();
    EXPECT_LT(*validation, losses.front());
  }
}

TEST(EngineTest, GradientsAgreeWithFiniteDifferences) {
  TrainingOptions options = TinyOptions();
  options.types = {at::kDouble, at::kDouble};
  options.micro_batches = 2;
  for (const double dropout : {0.0, 0.2}) {
    Solo solo(options, dropout);
    const auto loss = [&] {
      // The loss of a step before it is applied, on the same samples and with the same masks.
      EXPECT_TRUE(solo.engine.ComputeGradients().ok());
      return solo.engine.loss_sum() / static_cast<double>(options.nominal_tokens());
    };
    loss();
    std::vector<at::Tensor> gradients;
    for (const NamedTensor& g : solo.state->Gradients()) gradients.push_back(g.tensor.clone());
    const auto parameters = solo.state->Parameters();
    for (size_t p = 0; p < parameters.size(); ++p) {
      double* values = parameters[p].tensor.mutable_data_ptr<double>();
      const double* gradient = gradients[p].const_data_ptr<double>();
      for (const int64_t i : {int64_t{0}, parameters[p].tensor.numel() / 2 + 1}) {
        const double keep = values[i], h = 1e-5;
        values[i] = keep + h;
        const double up = loss();
        values[i] = keep - h;
        const double down = loss();
        values[i] = keep;
        EXPECT_NEAR(gradient[i], (up - down) / (2 * h), 1e-8 + 1e-5 * std::abs(gradient[i]))
            << parameters[p].name << "[" << i << "] dropout " << dropout;
      }
    }
  }
}

TEST(EngineTest, DetachedBoundariesGiveTheGradientsOfOneGraph) {
  TrainingOptions options = TinyOptions();
  options.micro_batches = 1;
  Solo solo(options);
  ASSERT_TRUE(solo.engine.ComputeGradients().ok());
  auto one = MakeTinyState(options, 0.0);
  const MicroBatch batch = *SyntheticFeed(options, 61).Training({});
  const MicroBatchContext context{.tokens = batch.tokens,
                                  .labels = batch.labels,
                                  .positions = at::arange(options.sequence, at::kLong),
                                  .samples = batch.samples,
                                  .step = 1,
                                  .seed = options.seed};
  std::vector<at::Tensor> tensors;
  for (const auto& block : one->model().blocks) {
    tensors = block->Forward(std::move(tensors), context).tensors;
  }
  torch::autograd::backward({tensors[0]},
                            {at::full({}, 1.0 / static_cast<double>(options.nominal_tokens()))});
  const auto a = solo.state->Gradients(), b = one->Gradients();
  for (size_t i = 0; i < a.size(); ++i)
    EXPECT_TRUE(at::equal(a[i].tensor, b[i].tensor)) << a[i].name;
}

TEST(EngineTest, AccumulationOverMicroBatchesEqualsOneLargeMicroBatch) {
  TrainingOptions options = TinyOptions();
  options.types = {at::kDouble, at::kDouble};
  options.micro_batches = 4;
  Solo many(options, 0.1);
  options.micro_batch = 8;
  options.micro_batches = 1;
  Solo one(options, 0.1);
  const auto a = many.Losses(10), b = one.Losses(10);
  for (size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a[i], b[i], 1e-11) << i;
}

TEST(EngineTest, DeterministicModeOnOneRankAgreesWithFastModeToRounding) {
  TrainingOptions options = TinyOptions();
  Solo fast(options, 0.1);
  options.deterministic = true;
  Solo fixed(options, 0.1);
  const auto a = fast.Losses(10), b = fixed.Losses(10);
  for (size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a[i], b[i], 1e-4) << i;
}

TEST(EngineTest, ParametersAndGradientsStayViewsOfTheirUnits) {
  Solo solo(TinyOptions());
  solo.Losses(3);
  for (const Unit& unit : solo.state->units()) EXPECT_TRUE(unit.CheckViews().ok());
  at::Tensor parameter = solo.state->units()[1].parameters()[0];
  parameter.mutable_grad() = parameter.grad().clone();
  EXPECT_EQ(solo.state->units()[1].CheckViews().message(),
            solo.state->units()[1].layout().tensors[0].spec.name + " is no longer a view of unit " +
                solo.state->units()[1].layout().name);
}

TEST(EngineTest, TiedEmbeddingIsOneUnitWithTwoUsersAndGetsBothGradients) {
  Solo solo(TinyOptions());
  const Unit& tied = solo.state->units()[0];
  EXPECT_EQ(tied.layout().name, "transformer.wte.weight");
  EXPECT_EQ(tied.layout().users, (std::vector<int>{0, 3}));
  ASSERT_TRUE(solo.engine.ComputeGradients().ok());
  // Tokens that never occur still get a gradient, through the head.
  EXPECT_GT(tied.parameters()[0].grad().ne(0).sum().item<int64_t>(), 61 * 32 * 9 / 10);
}

TEST(EngineTest, SkipsTheStepWhenNoTokenIsValid) {
  Solo solo(TinyOptions());
  solo.Step();
  const auto before = solo.state->Digest();
  solo.feed.ignore_from = 0;
  const StepOutcome outcome = solo.Step();
  EXPECT_FALSE(outcome.decision.apply());
  EXPECT_EQ(outcome.decision.skip_reason(), "no valid token in the global batch");
  EXPECT_EQ(solo.state->applied()->step(), 2);
  EXPECT_EQ(solo.state->counts().updates, 1);
  for (size_t u = 0; u + 1 < before.size(); ++u) EXPECT_EQ(solo.state->Digest()[u], before[u]);
}

TEST(EngineTest, SkipsTheStepWhenGradientsAreNotFinite) {
  Solo solo(TinyOptions());
  solo.state->units()[1].parameters()[0].detach().fill_(std::numeric_limits<float>::infinity());
  const StepOutcome outcome = solo.Step();
  EXPECT_FALSE(outcome.decision.apply());
  EXPECT_EQ(outcome.decision.skip_reason(), "gradients or loss are not finite");
  EXPECT_EQ(solo.state->counts().updates, 0);
}

TEST(EngineTest, IgnoredLabelsScaleByNominalOverValidOnce) {
  TrainingOptions options = TinyOptions();
  options.types = {at::kDouble, at::kDouble};
  options.clip_norm = 0.0;
  options.micro_batches = 1;
  options.optimizer = {.kind = OptimizerOptions::Kind::kSgd, .weight_decay = 0.0};
  options.schedule = {.peak = 1.0};
  Solo solo(options);
  solo.feed.ignore_from = 16;  // half of the tokens: the second sequence
  const auto before = solo.state->Parameters();
  std::vector<at::Tensor> old;
  for (const auto& p : before) old.push_back(p.tensor.clone());
  const StepOutcome outcome = solo.Step();
  EXPECT_EQ(outcome.decision.valid_tokens(), 16);
  // A run on the first sequence alone has the mean over the same tokens.
  options.micro_batch = 1;
  Solo alone(options);
  const StepOutcome want = alone.Step();
  EXPECT_NEAR(outcome.decision.loss(), want.decision.loss(), 1e-12);
  EXPECT_NEAR(outcome.decision.gradient_norm(), want.decision.gradient_norm(), 1e-12);
  const auto a = solo.state->Parameters(), b = alone.state->Parameters();
  for (size_t i = 0; i < a.size(); ++i) {
    EXPECT_LT((a[i].tensor - b[i].tensor).abs().max().item<double>(), 1e-12) << a[i].name;
  }
}

TEST(EngineTest, ClipsToTheGlobalNorm) {
  TrainingOptions options = TinyOptions();
  options.types = {at::kDouble, at::kDouble};
  options.clip_norm = 0.01;
  options.optimizer = {.kind = OptimizerOptions::Kind::kSgd, .weight_decay = 0.0};
  options.schedule = {.peak = 1.0};
  Solo solo(options);
  std::vector<at::Tensor> old;
  for (const auto& p : solo.state->Parameters()) old.push_back(p.tensor.clone());
  const StepOutcome outcome = solo.Step();
  EXPECT_GT(outcome.decision.gradient_norm(), 0.01);
  double moved = 0.0;
  const auto now = solo.state->Parameters();
  for (size_t i = 0; i < now.size(); ++i) {
    moved += (now[i].tensor - old[i]).pow(2).sum().item<double>();
  }
  EXPECT_NEAR(std::sqrt(moved), 0.01, 1e-6);
}

TEST(EngineTest, AnInterruptEndsTheStepAndTheNextTryIsUndisturbed) {
  Solo disturbed(TinyOptions(), 0.1), calm(TinyOptions(), 0.1);
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
  Solo cut(TinyOptions(), 0.1), calm(TinyOptions(), 0.1);
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

TEST(EngineTest, SealedGradientsAreAppliedByTheOptionsThatMadeThemWhateverCameSince) {
  Solo cut(TinyOptions(), 0.1), calm(TinyOptions(), 0.1);
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
class ThrowingCommunicator final : public Communicator {
 public:
  ThrowingCommunicator(Communicator& inner, std::string label)
      : inner_(inner), label_(std::move(label)) {}
  int rank() const override { return inner_.rank(); }
  int size() const override { return inner_.size(); }
  std::unique_ptr<Pending> AllReduce(at::Tensor tensor, ReduceOp op,
                                     std::string_view label) override {
    TORCH_CHECK(label != label_, "no memory for ", label_);
    return inner_.AllReduce(tensor, op, label);
  }
  std::unique_ptr<Pending> ReduceScatter(at::Tensor output, at::Tensor input, ReduceOp op,
                                         std::string_view label) override {
    return inner_.ReduceScatter(output, input, op, label);
  }
  std::unique_ptr<Pending> AllGather(at::Tensor output, at::Tensor input,
                                     std::string_view label) override {
    return inner_.AllGather(output, input, label);
  }
  std::unique_ptr<Pending> AllToAllV(at::Tensor output, std::vector<int64_t> output_counts,
                                     at::Tensor input, std::vector<int64_t> input_counts,
                                     std::string_view label) override {
    return inner_.AllToAllV(output, output_counts, input, input_counts, label);
  }
  std::unique_ptr<Pending> Broadcast(at::Tensor tensor, int root, std::string_view label) override {
    return inner_.Broadcast(tensor, root, label);
  }
  std::unique_ptr<Pending> Send(at::Tensor tensor, int to, std::string_view label) override {
    return inner_.Send(tensor, to, label);
  }
  std::unique_ptr<Pending> Recv(at::Tensor tensor, int from, std::string_view label) override {
    return inner_.Recv(tensor, from, label);
  }
  std::unique_ptr<Pending> Barrier() override { return inner_.Barrier(); }
  void Abort(std::string_view why) override { inner_.Abort(why); }
  std::string DumpFlightRecord() const override { return inner_.DumpFlightRecord(); }

 private:
  Communicator& inner_;
  const std::string label_;
};

TEST(EngineTest, WhatLibTorchThrowsInTheVoteOrInValidationIsAnErrorThatSaysWhere) {
  for (const auto& [label, where] :
       {std::pair{"vote", "Vote() of step 1"}, std::pair{"validation", "validation"}}) {
    Solo solo(TinyOptions());
    ThrowingCommunicator throwing(*solo.communicator, label);
    solo.GoOn({});
    ASSERT_TRUE(solo.engine.BeginRound(throwing).ok());
    const absl::Status status = std::string(label) == "vote" ? solo.engine.Step({}).status()
                                                             : solo.engine.Validate(2).status();
    EXPECT_EQ(status, absl::UnknownError(absl::StrCat(where, ": no memory for ", label)));
    EXPECT_EQ(solo.state->applied()->step(), 0);
  }
}

// Makes the next write to the unit throw: LibTorch refuses to write through a tensor whose elements
// share memory.
void Spoil(const Unit& unit) {
  at::Tensor gradients = unit.gradients();
  gradients.as_strided_(gradients.sizes(), {0});
}

TEST(EngineTest, WhatLibTorchThrowsInTheReducerIsAnErrorThatSaysWhere) {
  TrainingOptions options = TinyOptions();
  options.deterministic = true;
  Solo solo(options);
  solo.Step();
  Spoil(solo.state->units()[1]);
  const absl::Status status = solo.engine.Step({}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnknown);
  EXPECT_EQ(std::string(status.message()).find("Reduce(unit 1) of step 2: unsupported operation"),
            0u)
      << status;
  EXPECT_EQ(solo.state->applied()->step(), 1) << "nothing was written";
}

TEST(EngineTest, WhatLibTorchThrowsBetweenTwoWritesLosesTheWeightsAndIsNoCrash) {
  TrainingOptions options = TinyOptions();
  options.clip_norm = 1e-3;
  Solo solo(options);
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
  Spoil(solo.state->units()[1]);
  const absl::Status status = solo.state->Apply();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnknown);
  EXPECT_EQ(std::string(status.message()).find("applying step 1: unsupported operation"), 0u)
      << status;
  EXPECT_FALSE(solo.state->applied().has_value()) << "torn weights are nobody's donor";
}

}  // namespace
}  // namespace muster::trainer
