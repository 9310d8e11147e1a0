#include "trainer/optim/adamw.h"

#include <string>
#include <utility>

#include "ATen/ops/_fused_adamw.h"
#include "ATen/ops/full.h"
#include "base/failpoint.h"
#include "trainer/optim/optimizer_runs.h"

namespace muster::trainer {
namespace {

class AdamW final : public Optimizer {
 public:
  AdamW(const OptimizerOptions& options, std::vector<OptimizerUnit> units)
      : options_(options), state_(ZeroState(units, 2)) {
    for (const OptimizerRun& run : CutIntoRuns(units, state_)) {
      Group& group = run.decay ? decayed_ : plain_;
      group.values.push_back(run.values);
      group.gradients.push_back(run.gradients);
      group.first.push_back(run.state[0]);
      group.second.push_back(run.state[1]);
    }
  }

  void Configure(const OptimizerOptions& options) override { options_ = options; }
  void Apply(int64_t update, double learning_rate) override {
    ApplyGroup(decayed_, update, learning_rate, options_.weight_decay);
    MUSTER_FAILPOINT("trainer.mid_apply");
    ApplyGroup(plain_, update, learning_rate, 0.0);
  }
  const std::vector<std::string>& state_names() const override { return names_; }
  std::vector<at::Tensor> state(int unit) const override { return state_[unit]; }

 private:
  struct Group {
    std::vector<at::Tensor> values, gradients, first, second;
  };

  void ApplyGroup(Group& group, int64_t update, double learning_rate, double decay) {
    if (group.values.empty()) return;
    // The kernel reads the step count from tensors, after the caller has raised them.
    const std::vector<at::Tensor> counts(group.values.size(),
                                         at::full({}, static_cast<double>(update), at::kFloat));
    at::_fused_adamw_(group.values, group.gradients, group.first, group.second, {}, counts,
                      learning_rate, options_.beta1, options_.beta2, decay, options_.epsilon,
                      /*amsgrad=*/false, /*maximize=*/false);
  }

  OptimizerOptions options_;
  const std::vector<std::string> names_ = {"exp_avg", "exp_avg_sq"};
  const std::vector<std::vector<at::Tensor>> state_;
  Group decayed_, plain_;
};

}  // namespace

std::unique_ptr<Optimizer> MakeAdamW(const OptimizerOptions& options,
                                     std::vector<OptimizerUnit> units) {
  return std::make_unique<AdamW>(options, std::move(units));
}

}  // namespace muster::trainer
