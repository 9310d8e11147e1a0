#include "trainer/optim/adamw.h"

#include <string>
#include <utility>

#include "ATen/ops/_fused_adamw.h"
#include "ATen/ops/full.h"
#include "trainer/optim/optimizer_runs.h"

namespace muster::trainer {
namespace {

class AdamW final : public Optimizer {
 public:
  AdamW(const OptimizerOptions& options, std::vector<OptimizerUnit> units)
      : options_(options), state_(ZeroState(units, 2)), runs_(CutIntoRuns(units, state_)) {}

  void Configure(const OptimizerOptions& options) override { options_ = options; }
  void Apply(int unit, int64_t update, double learning_rate) override {
    for (const OptimizerRun& run : runs_[static_cast<size_t>(unit)]) {
      const at::Tensor& count = Count(update, run.values);
      const double decay = run.decay ? options_.weight_decay : 0.0;
      at::_fused_adamw_({run.values}, {run.gradients}, {run.state[0]}, {run.state[1]}, {}, {count},
                        learning_rate, options_.beta1, options_.beta2, decay, options_.epsilon,
                        /*amsgrad=*/false, /*maximize=*/false);
    }
  }
  const std::vector<std::string>& state_names() const override { return names_; }
  std::vector<at::Tensor> state(int unit) const override { return state_[unit]; }

 private:
  // The kernel reads the step count from a tensor on its device, after the caller has raised it.
  // All units of an update read one.
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
