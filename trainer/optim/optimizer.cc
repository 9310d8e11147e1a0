#include "trainer/optim/optimizer.h"

#include <tuple>
#include <utility>

#include "ATen/ops/_fused_adamw.h"
#include "ATen/ops/full.h"
#include "ATen/ops/zeros_like.h"
#include "base/failpoint.h"

namespace muster::trainer {
namespace {

// A run of a unit's elements that share one weight decay.
struct Run {
  at::Tensor values, gradients;
  std::vector<at::Tensor> state;
  bool decay = false;
};

std::vector<Run> CutIntoRuns(const std::vector<OptimizerUnit>& units,
                             const std::vector<std::vector<at::Tensor>>& state) {
  std::vector<Run> runs;
  for (size_t u = 0; u < units.size(); ++u) {
    const OptimizerUnit& unit = units[u];
    const int64_t all = unit.values.numel();
    for (const auto& [begin, end, decay] : {std::tuple{int64_t{0}, unit.decay_elements, true},
                                            std::tuple{unit.decay_elements, all, false}}) {
      if (begin == end) continue;
      Run run{.values = unit.values.narrow(0, begin, end - begin),
              .gradients = unit.gradients.narrow(0, begin, end - begin),
              .decay = decay};
      for (const at::Tensor& tensor : state[u]) {
        run.state.push_back(tensor.narrow(0, begin, end - begin));
      }
      runs.push_back(std::move(run));
    }
  }
  return runs;
}

std::vector<std::vector<at::Tensor>> ZeroState(const std::vector<OptimizerUnit>& units,
                                               size_t tensors) {
  std::vector<std::vector<at::Tensor>> state(units.size());
  for (size_t u = 0; u < units.size(); ++u) {
    for (size_t i = 0; i < tensors; ++i) state[u].push_back(at::zeros_like(units[u].values));
  }
  return state;
}

// Decoupled weight decay (Loshchilov and Hutter, 2019), one fused pass over each run.
class AdamW final : public Optimizer {
 public:
  AdamW(const OptimizerOptions& options, std::vector<OptimizerUnit> units)
      : options_(options), state_(ZeroState(units, 2)) {
    for (const Run& run : CutIntoRuns(units, state_)) {
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

// PyTorch's SGD: weight decay joins the gradient, momentum without dampening.
class Sgd final : public Optimizer {
 public:
  Sgd(const OptimizerOptions& options, std::vector<OptimizerUnit> units)
      : options_(options),
        names_(options.momentum != 0.0 ? std::vector<std::string>{"momentum_buffer"}
                                       : std::vector<std::string>{}),
        state_(ZeroState(units, names_.size())),
        runs_(CutIntoRuns(units, state_)) {}

  void Configure(const OptimizerOptions& options) override { options_ = options; }
  void Apply(int64_t update, double learning_rate) override {
    for (Run& run : runs_) {
      if (run.decay && options_.weight_decay != 0.0) {
        run.gradients.add_(run.values, options_.weight_decay);
      }
      if (!run.state.empty()) {
        run.state[0].mul_(options_.momentum).add_(run.gradients);
        run.values.add_(run.state[0], -learning_rate);
      } else {
        run.values.add_(run.gradients, -learning_rate);
      }
    }
  }
  const std::vector<std::string>& state_names() const override { return names_; }
  std::vector<at::Tensor> state(int unit) const override { return state_[unit]; }

 private:
  OptimizerOptions options_;
  const std::vector<std::string> names_;
  const std::vector<std::vector<at::Tensor>> state_;
  std::vector<Run> runs_;
};

}  // namespace

std::unique_ptr<Optimizer> MakeOptimizer(const OptimizerOptions& options,
                                         std::vector<OptimizerUnit> units) {
  if (options.kind == OptimizerOptions::Kind::kSgd) {
    return std::make_unique<Sgd>(options, std::move(units));
  }
  return std::make_unique<AdamW>(options, std::move(units));
}

}  // namespace muster::trainer
