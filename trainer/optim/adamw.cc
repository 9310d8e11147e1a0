#include "trainer/optim/adamw.h"

#include <string>
#include <utility>

#include "trainer/optim/adamw_step.h"
#include "trainer/optim/optimizer_runs.h"

namespace muster::trainer {
namespace {

class AdamW final : public Optimizer {
 public:
  AdamW(const OptimizerOptions& options, std::vector<OptimizerUnit> units)
      : options_(options), state_(ZeroState(units, 2)), runs_(CutIntoRuns(units, state_)) {}

  void Configure(const OptimizerOptions& options) override { options_ = options; }
  void Apply(int unit, const UpdateOptions& options) override {
    step_.Apply(runs_[static_cast<size_t>(unit)], options_, options);
  }
  const std::vector<std::string>& state_names() const override { return names_; }
  std::vector<at::Tensor> state(int unit) const override { return state_[unit]; }

 private:
  OptimizerOptions options_;
  AdamWStep step_;
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
