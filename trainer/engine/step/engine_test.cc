// Tests a step's numbers: loss, gradients, clipping, and the steps that are skipped.
#include "trainer/engine/step/engine.h"

#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "ATen/TensorOperators.h"
#include "ATen/ops/arange.h"
#include "ATen/ops/equal.h"
#include "ATen/ops/full.h"
#include "gtest/gtest.h"
#include "torch/csrc/autograd/autograd.h"
#include "trainer/engine/testing/solo_engine.h"
#include "trainer/engine/testing/synthetic_feed.h"
#include "trainer/optim/sgd.h"

namespace muster::trainer {
namespace {

TEST(EngineTest, LossFallsInEveryPrecision) {
  for (const auto& types :
       {PrecisionTypes{at::kFloat, at::kFloat}, PrecisionTypes{at::kFloat, at::kBFloat16},
        PrecisionTypes{at::kFloat, at::kHalf},
        PrecisionTypes{at::kFloat, at::kBFloat16, /*fp8=*/true},
        PrecisionTypes{at::kDouble, at::kDouble}}) {
    TrainingOptions options = TinyOptions();
    options.types = types;
    SoloEngine solo(options, 0.1);
    const std::vector<double> losses = solo.Losses(60);
    EXPECT_NEAR(losses.front(), std::log(61.0), 0.15);
    EXPECT_LT(losses.back(), 0.6 * losses.front()) << types.compute << " " << types.fp8;
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
    SoloEngine solo(options, dropout);
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
  SoloEngine solo(options);
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
  SoloEngine many(options, 0.1);
  options.micro_batch = 8;
  options.micro_batches = 1;
  SoloEngine one(options, 0.1);
  const auto a = many.Losses(10), b = one.Losses(10);
  for (size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a[i], b[i], 1e-11) << i;
}

TEST(EngineTest, DeterministicModeOnOneRankAgreesWithFastModeToRounding) {
  TrainingOptions options = TinyOptions();
  SoloEngine fast(options, 0.1);
  options.deterministic = true;
  SoloEngine fixed(options, 0.1);
  const auto a = fast.Losses(10), b = fixed.Losses(10);
  for (size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a[i], b[i], 1e-4) << i;
}

TEST(EngineTest, ParametersAndGradientsStayViewsOfTheirUnits) {
  SoloEngine solo(TinyOptions());
  solo.Losses(3);
  for (const Unit& unit : solo.state->units()) EXPECT_TRUE(unit.CheckViews().ok());
  at::Tensor parameter = solo.state->units()[1].parameters()[0];
  parameter.mutable_grad() = parameter.grad().clone();
  EXPECT_EQ(solo.state->units()[1].CheckViews().message(),
            solo.state->units()[1].layout().tensors[0].spec.name + " is no longer a view of unit " +
                solo.state->units()[1].layout().name);
}

TEST(EngineTest, TiedEmbeddingIsOneUnitWithTwoUsersAndGetsBothGradients) {
  SoloEngine solo(TinyOptions());
  const Unit& tied = solo.state->units()[0];
  EXPECT_EQ(tied.layout().name, "transformer.wte.weight");
  EXPECT_EQ(tied.layout().users, (std::vector<int>{0, 3}));
  ASSERT_TRUE(solo.engine.ComputeGradients().ok());
  // Tokens that never occur still get a gradient, through the head.
  EXPECT_GT(tied.parameters()[0].grad().ne(0).sum().item<int64_t>(), 61 * 32 * 9 / 10);
}

TEST(EngineTest, SkipsTheStepWhenNoTokenIsValid) {
  SoloEngine solo(TinyOptions());
  solo.Step();
  const std::vector<int64_t> before = *solo.state->Digest();
  solo.feed.ignore_from = 0;
  const StepOutcome outcome = solo.Step();
  EXPECT_FALSE(outcome.decision.apply());
  EXPECT_EQ(outcome.decision.skip_reason(), "no valid token in the global batch");
  EXPECT_EQ(solo.state->applied()->step(), 2);
  EXPECT_EQ(solo.state->counts().updates, 1);
  for (size_t u = 0; u + 1 < before.size(); ++u) EXPECT_EQ((*solo.state->Digest())[u], before[u]);
}

TEST(EngineTest, SkipsTheStepWhenGradientsAreNotFinite) {
  SoloEngine solo(TinyOptions());
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
  options.optimizer = {.make = &MakeSgd, .weight_decay = 0.0};
  options.schedule = {.peak = 1.0};
  SoloEngine solo(options);
  solo.feed.ignore_from = 16;  // half of the tokens: the second sequence
  const auto before = solo.state->Parameters();
  std::vector<at::Tensor> old;
  for (const auto& p : before) old.push_back(p.tensor.clone());
  const StepOutcome outcome = solo.Step();
  EXPECT_EQ(outcome.decision.valid_tokens(), 16);
  // A run on the first sequence alone has the mean over the same tokens.
  options.micro_batch = 1;
  SoloEngine alone(options);
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
  options.optimizer = {.make = &MakeSgd, .weight_decay = 0.0};
  options.schedule = {.peak = 1.0};
  SoloEngine solo(options);
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

}  // namespace
}  // namespace muster::trainer
