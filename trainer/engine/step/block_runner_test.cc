#include "trainer/engine/step/block_runner.h"

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "ATen/TensorOperators.h"
#include "ATen/core/Tensor.h"
#include "ATen/ops/arange.h"
#include "ATen/ops/mm.h"
#include "ATen/ops/tanh.h"
#include "gtest/gtest.h"
#include "planner/activations.h"
#include "trainer/model/block.h"

namespace muster::trainer {
namespace {

constexpr int64_t kWidth = 32;

at::Tensor Numbers(int64_t rows, double frequency) {
  return (at::arange(rows * kWidth, at::kDouble) * frequency).sin().view({rows, kWidth}).clone();
}

// x -> tanh(x w), with a small loss of its own; the last block returns the sum of that.
class TanhBlock final : public Block {
 public:
  TanhBlock(double frequency, bool first, bool last)
      : first_(first), last_(last), weight_(Numbers(kWidth, frequency).requires_grad_(true)) {}

  std::string name() const override { return "tanh"; }
  const std::vector<ParameterSpec>& parameters() const override { return parameters_; }
  void Bind(std::vector<at::Tensor> /*views*/) override {}
  BlockOutput Forward(std::vector<at::Tensor> inputs,
                      const MicroBatchContext& /*context*/) override {
    ++runs_;
    const at::Tensor y = at::tanh(at::mm(first_ ? Numbers(16, 0.3) : inputs[0], weight_));
    if (last_) return {.tensors = {y.sum()}, .auxiliary_losses = {}};
    return {.tensors = {y}, .auxiliary_losses = {y.square().sum() * 0.1}};
  }

  int runs() const { return runs_; }
  at::Tensor gradient() const { return weight_.grad(); }

 private:
  const bool first_, last_;
  const at::Tensor weight_;
  const std::vector<ParameterSpec> parameters_;
  int runs_ = 0;
};

struct Steps {
  std::vector<int> runs;  // of each block's forward pass
  std::vector<at::Tensor> gradients;
  std::vector<bool> kept_graphs;  // of each block's output, after the forward pass
  double loss = 0.0;
};

Steps RunTwice(const planner::ActivationOptions& activations) {
  Model model;
  std::vector<const TanhBlock*> blocks;
  for (int b = 0; b < 4; ++b) {
    auto block = std::make_unique<TanhBlock>(0.1 + 0.2 * b, b == 0, b == 3);
    blocks.push_back(block.get());
    model.blocks.push_back(std::move(block));
  }
  BlockRunner runner(model);
  runner.set_activations(activations);
  runner.Begin(std::vector<MicroBatchContext>(2));
  Steps run;
  for (int m = 0; m < 2; ++m) {
    for (int b = 0; b < 4; ++b) EXPECT_TRUE(runner.Forward(b, m).ok());
    for (int b = 0; m == 0 && b < 4; ++b) {
      run.kept_graphs.push_back(runner.OutputsOf(b, m)[0].requires_grad());
    }
    for (int b = 3; b >= 0; --b) EXPECT_TRUE(runner.Backward(b, m).ok());
  }
  for (const TanhBlock* block : blocks) {
    run.runs.push_back(block->runs());
    run.gradients.push_back(block->gradient());
  }
  run.loss = runner.losses(1)[0];
  return run;
}

TEST(BlockRunnerTest, ABlockThatIsComputedAgainKeepsNoGraphAndGivesTheSameGradients) {
  const Steps kept = RunTwice({});
  EXPECT_EQ(kept.runs, (std::vector{2, 2, 2, 2}));
  const struct {
    int every;
    std::vector<int> runs;
    std::vector<bool> kept_graphs;
  } cases[] = {{1, {4, 4, 4, 2}, {false, false, false, true}},
               {2, {2, 4, 2, 2}, {true, false, true, true}}};
  for (const auto& c : cases) {
    const Steps again = RunTwice({.recompute_every = c.every});
    EXPECT_EQ(again.runs, c.runs);
    EXPECT_EQ(again.kept_graphs, c.kept_graphs);
    EXPECT_EQ(again.loss, kept.loss);
    for (size_t b = 0; b < kept.gradients.size(); ++b) {
      EXPECT_TRUE(again.gradients[b].equal(kept.gradients[b])) << "block " << b;
    }
  }
}

TEST(BlockRunnerTest, BlocksBeforeTheLastSaveRoundedActivations) {
  const Steps kept = RunTwice({});
  const Steps rounded = RunTwice({.format = planner::SavedFormat::kBf16});
  EXPECT_EQ(rounded.loss, kept.loss);
  EXPECT_TRUE(rounded.gradients[3].equal(kept.gradients[3]));
  for (size_t b = 0; b < 3; ++b) {
    const double error = rounded.gradients[b].sub(kept.gradients[b]).norm().item<double>();
    const double norm = kept.gradients[b].norm().item<double>();
    EXPECT_TRUE(error > 0.0 && error <= 0.02 * norm) << "block " << b << ": " << error / norm;
  }
}

}  // namespace
}  // namespace muster::trainer
