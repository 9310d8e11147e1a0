#include "trainer/optim/sgd.h"

#include <string>
#include <utility>

#include "trainer/optim/optimizer_runs.h"

namespace muster::trainer {
namespace {

class Sgd final : public Optimizer {
 public:
  Sgd(const OptimizerOptions& options, std::vector<OptimizerUnit> units)
      : options_(options),
        names_(options.momentum != 0.0 ? std::vector<std::string>{"momentum_buffer"}
                                       : std::vector<std::string>{}),
        state_(ZeroState(units, names_.size())),
        runs_(CutIntoRuns(units, state_)) {}

  void Configure(const OptimizerOptions& options) override { options_ = options; }
  void Apply(int unit, const UpdateOptions& options) override {
    std::vector<OptimizerRun>& runs = runs_[static_cast<size_t>(unit)];
    MultiplyGradients(runs, options.gradient_factor);
    for (OptimizerRun& run : runs) {
      const double decay = run.WeightDecay(options_);
      if (decay != 0.0) run.gradients.add_(run.values, decay);
      if (!run.state.empty()) {
        run.state[0].mul_(options_.momentum).add_(run.gradients);
        run.values.add_(run.state[0], -run.LearningRate(options));
      } else {
        run.values.add_(run.gradients, -run.LearningRate(options));
      }
    }
  }
  const std::vector<std::string>& state_names() const override { return names_; }
  std::vector<at::Tensor> state(int unit) const override { return state_[unit]; }

 private:
  OptimizerOptions options_;
  const std::vector<std::string> names_;
  const std::vector<std::vector<at::Tensor>> state_;
  std::vector<std::vector<OptimizerRun>> runs_;  // by unit
};

}  // namespace

std::unique_ptr<Optimizer> MakeSgd(const OptimizerOptions& options,
                                   std::vector<OptimizerUnit> units) {
  return std::make_unique<Sgd>(options, std::move(units));
}

}  // namespace muster::trainer
