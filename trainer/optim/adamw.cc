#include "trainer/optim/adamw.h"

#include <string>
#include <utility>

#include "ATen/ops/_fused_adamw.h"
#include "ATen/ops/full.h"
#include "trainer/kernels/kernels.h"
#include "trainer/optim/optimizer_runs.h"

namespace muster::trainer {
namespace {

class AdamW final : public Optimizer {
 public:
  AdamW(const OptimizerOptions& options, std::vector<OptimizerUnit> units)
      : options_(options), state_(ZeroState(units, 2)), runs_(CutIntoRuns(units, state_)) {}

  void Configure(const OptimizerOptions& options) override { options_ = options; }
  void Apply(int unit, const UpdateOptions& options) override {
    const std::vector<OptimizerRun>& runs = runs_[static_cast<size_t>(unit)];
    if (runs.empty()) return;
    const at::Tensor& values = runs.front().values;
    const AdamWKernel* const kernel =
        values.scalar_type() == at::kFloat ? KernelsOf(values).adamw() : nullptr;
    if (kernel != nullptr) {
      ApplyByKernel(*kernel, runs, options);
    } else {
      ApplyByLibTorch(runs, options);
    }
  }
  const std::vector<std::string>& state_names() const override { return names_; }
  std::vector<at::Tensor> state(int unit) const override { return state_[unit]; }

 private:
  double DecayOf(const OptimizerRun& run) const { return run.decay ? options_.weight_decay : 0.0; }

  void ApplyByKernel(const AdamWKernel& kernel, const std::vector<OptimizerRun>& runs,
                     const UpdateOptions& options) const {
    std::vector<AdamWElements> elements;
    for (const OptimizerRun& run : runs) {
      elements.push_back({run.values, run.gradients, run.state[0], run.state[1], DecayOf(run)});
    }
    kernel.Update(elements, {.update = options.update,
                             .learning_rate = options.learning_rate,
                             .beta1 = options_.beta1,
                             .beta2 = options_.beta2,
                             .epsilon = options_.epsilon,
                             .gradient_factor = options.gradient_factor});
  }

  void ApplyByLibTorch(const std::vector<OptimizerRun>& runs, const UpdateOptions& options) {
    MultiplyGradients(runs, options.gradient_factor);
    for (const OptimizerRun& run : runs) {
      const at::Tensor& count = Count(options.update, run.values);
      at::_fused_adamw_({run.values}, {run.gradients}, {run.state[0]}, {run.state[1]}, {}, {count},
                        options.learning_rate, options_.beta1, options_.beta2, DecayOf(run),
                        options_.epsilon, /*amsgrad=*/false, /*maximize=*/false);
    }
  }

  // LibTorch reads the step count from a tensor on its device, after the caller has raised it. All
  // units of an update read one.
  const at::Tensor& Count(int64_t update, const at::Tensor& values) {
    if (!count_.defined() || counted_ != update || count_.device() != values.device()) {
      count_ = at::full({}, static_cast<double>(update), values.options().dtype(at::kFloat));
      counted_ = update;
    }
    return count_;
  }

  OptimizerOptions options_;
  at::Tensor count_;
  int64_t counted_ = 0;
  const std::vector<std::string> names_ = {"exp_avg", "exp_avg_sq"};
  const std::vector<std::vector<at::Tensor>> state_;
  const std::vector<std::vector<OptimizerRun>> runs_;  // by unit
};

}  // namespace

std::unique_ptr<Optimizer> MakeAdamW(const OptimizerOptions& options,
                                     std::vector<OptimizerUnit> units) {
  return std::make_unique<AdamW>(options, std::move(units));
}

}  // namespace muster::trainer
