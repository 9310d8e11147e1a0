#include "trainer/optim/lion.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>

#include "ATen/ops/lerp.h"
#include "trainer/optim/optimizer_runs.h"

namespace muster::trainer {
namespace {

// The directions of so many elements are in memory at a time.
constexpr int64_t kChunk = int64_t{1} << 22;

class Lion final : public Optimizer {
 public:
  Lion(const OptimizerOptions& options, std::vector<OptimizerUnit> units)
      : options_(options), state_(ZeroState(units, 1)), runs_(CutIntoRuns(units, state_)) {}

  void Configure(const OptimizerOptions& options) override { options_ = options; }
  void Apply(int unit, const UpdateOptions& options) override {
    const std::vector<OptimizerRun>& runs = runs_[static_cast<size_t>(unit)];
    MultiplyGradients(runs, options.gradient_factor);
    for (const OptimizerRun& run : runs) {
      const double learning_rate = run.LearningRate(options);
      const double decay = run.WeightDecay(options_);
      for (int64_t begin = 0; begin < run.values.numel(); begin += kChunk) {
        const int64_t count = std::min(kChunk, run.values.numel() - begin);
        const at::Tensor values = run.values.narrow(0, begin, count);
        const at::Tensor gradients = run.gradients.narrow(0, begin, count);
        const at::Tensor mean = run.state[0].narrow(0, begin, count);
        if (decay != 0.0) values.mul_(1.0 - learning_rate * decay);
        const at::Tensor direction = at::lerp(mean, gradients, 1.0 - options_.beta1).sign_();
        values.add_(direction, -learning_rate);
        mean.lerp_(gradients, 1.0 - options_.beta2);
      }
    }
  }
  const std::vector<std::string>& state_names() const override { return names_; }
  std::vector<at::Tensor> state(int unit) const override { return state_[unit]; }

 private:
  OptimizerOptions options_;
  const std::vector<std::string> names_ = {"exp_avg"};
  const std::vector<std::vector<at::Tensor>> state_;
  const std::vector<std::vector<OptimizerRun>> runs_;  // by unit
};

}  // namespace

std::unique_ptr<Optimizer> MakeLion(const OptimizerOptions& options,
                                    std::vector<OptimizerUnit> units) {
  return std::make_unique<Lion>(options, std::move(units));
}

}  // namespace muster::trainer
