#include "trainer/optim/lamb.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <utility>

#include "base/status_macros.h"
#include "trainer/optim/optimizer_runs.h"
#include "trainer/optim/tensor_squares.h"
#include "trainer/parallel/unit_layout.h"

namespace muster::trainer {
namespace {

// The number of elements, in whole chunks, whose updates are in memory at a time.
constexpr int64_t kBlock = 256 * kChunkElements;

// Some elements of a slice, which are updated alike: from `begin` of the unit on.
struct Block {
  int64_t begin = 0;
  OptimizerRun run;
};

// Cuts slices into blocks, which begin and end where a chunk or a tensor does.
std::vector<std::vector<Block>> CutIntoBlocks(const std::vector<OptimizerUnit>& units,
                                              const std::vector<std::vector<at::Tensor>>& state) {
  std::vector<std::vector<Block>> blocks(units.size());
  for (size_t u = 0; u < units.size(); ++u) {
    const OptimizerUnit& unit = units[u];
    for (const AlikeElements& alike : CutBySettings(unit)) {
      for (int64_t begin = alike.begin, end = 0; begin < alike.end; begin = end) {
        end = std::min(alike.end, begin / kBlock * kBlock + kBlock);
        blocks[u].push_back(
            {unit.begin + begin, RunOf(unit, state[u], begin, end, alike.settings)});
      }
    }
  }
  return blocks;
}

class Lamb final : public Optimizer {
 public:
  Lamb(const OptimizerOptions& options, std::vector<OptimizerUnit> units)
      : options_(options),
        units_(std::move(units)),
        state_(ZeroState(units_, 2)),
        blocks_(CutIntoBlocks(units_, state_)),
        squares_(units_, /*kinds=*/2) {}

  void Configure(const OptimizerOptions& options) override { options_ = options; }
  bool has_prepare() const override { return true; }

  absl::StatusOr<bool> Prepare(const UpdateOptions& options,
                               const OptimizerContext& context) override {
    squares_.Begin();
    for (size_t u = 0; u < units_.size(); ++u) {
      const int unit = static_cast<int>(u);
      MUSTER_RETURN_IF_ERROR(context.Bring(unit));
      for (const Block& block : blocks_[u]) {
        squares_.Add(0, unit, block.begin, block.run.values);
        squares_.Add(1, unit, block.begin, StepOf(block.run, options).update);
      }
      context.Drop(unit);
    }
    MUSTER_ASSIGN_OR_RETURN(const auto sums, squares_.Sum(context));
    bool finite = true;
    ratios_.assign(units_.size(), {});
    for (size_t u = 0; u < units_.size(); ++u) {
      for (size_t t = 0; t < units_[u].tensors.size(); ++t) {
        const double values = std::sqrt(sums[0][u][t]), updates = std::sqrt(sums[1][u][t]);
        ratios_[u].push_back(values > 0.0 && updates > 0.0 ? values / updates : 1.0);
        finite = finite && std::isfinite(values) && std::isfinite(updates);
      }
    }
    return finite;
  }

  void Apply(int unit, const UpdateOptions& options) override {
    const auto u = static_cast<size_t>(unit);
    for (const Block& block : blocks_[u]) {
      const Step step = StepOf(block.run, options);
      block.run.state[0].copy_(step.mean);
      block.run.state[1].copy_(step.squares);
      const int64_t end = block.begin + step.update.numel();
      for (size_t t = 0; t < units_[u].tensors.size(); ++t) {
        const OptimizerTensor& tensor = units_[u].tensors[t];
        const int64_t first = std::max(block.begin, tensor.offset);
        const int64_t count = std::min(end, tensor.offset + tensor.size) - first;
        if (count <= 0) continue;
        step.update.narrow(0, first - block.begin, count)
            .mul_(-block.run.LearningRate(options) * ratios_[u][t]);
      }
      block.run.values.add_(step.update);
    }
  }
  const std::vector<std::string>& state_names() const override { return names_; }
  std::vector<at::Tensor> state(int unit) const override { return state_[unit]; }

 private:
  // The next state of some elements, and the direction in which they move.
  struct Step {
    at::Tensor mean, squares, update;
  };

  // Each operation rounds once, so that an element has the same bits wherever a slice is cut: in
  // one that multiplies and adds, LibTorch's vectors round otherwise than the elements that are
  // left.
  Step StepOf(const OptimizerRun& run, const UpdateOptions& options) const {
    const at::Tensor gradients = run.gradients.mul(options.gradient_factor);
    const auto update = static_cast<double>(options.update);
    Step step{.mean = run.state[0].mul(options_.beta1),
              .squares = run.state[1].mul(options_.beta2)};
    step.mean.add_(gradients.mul(1.0 - options_.beta1));
    step.squares.add_(gradients.mul(gradients).mul_(1.0 - options_.beta2));
    at::Tensor divisor = step.squares.div(1.0 - std::pow(options_.beta2, update));
    divisor.sqrt_().add_(options_.epsilon);
    step.update = step.mean.div(1.0 - std::pow(options_.beta1, update)).div_(divisor);
    const double decay = run.WeightDecay(options_);
    if (decay != 0.0) step.update.add_(run.values.mul(decay));
    return step;
  }

  OptimizerOptions options_;
  const std::vector<std::string> names_ = {"exp_avg", "exp_avg_sq"};
  const std::vector<OptimizerUnit> units_;
  const std::vector<std::vector<at::Tensor>> state_;
  const std::vector<std::vector<Block>> blocks_;  // by unit
  TensorSquares squares_;                         // of values, and of updates
  std::vector<std::vector<double>> ratios_;       // by unit and tensor
};

}  // namespace

std::unique_ptr<Optimizer> MakeLamb(const OptimizerOptions& options,
                                    std::vector<OptimizerUnit> units) {
  return std::make_unique<Lamb>(options, std::move(units));
}

}  // namespace muster::trainer
