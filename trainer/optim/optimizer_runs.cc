#include "trainer/optim/optimizer_runs.h"

#include <tuple>

#include "ATen/ops/zeros_like.h"
#include "trainer/parallel/flat_memory.h"

namespace muster::trainer {

OptimizerRun RunOf(const OptimizerUnit& unit, const std::vector<at::Tensor>& state, int64_t begin,
                   int64_t end, bool decay) {
  OptimizerRun run{.values = unit.values.narrow(0, begin, end - begin),
                   .gradients = unit.gradients.narrow(0, begin, end - begin),
                   .decay = decay};
  for (const at::Tensor& tensor : state) run.state.push_back(tensor.narrow(0, begin, end - begin));
  return run;
}

std::vector<std::vector<OptimizerRun>> CutIntoRuns(
    const std::vector<OptimizerUnit>& units, const std::vector<std::vector<at::Tensor>>& state) {
  std::vector<std::vector<OptimizerRun>> runs(units.size());
  for (size_t u = 0; u < units.size(); ++u) {
    const OptimizerUnit& unit = units[u];
    const int64_t all = unit.values.numel();
    for (const auto& [begin, end, decay] : {std::tuple{int64_t{0}, unit.decay_elements, true},
                                            std::tuple{unit.decay_elements, all, false}}) {
      if (begin == end) continue;
      runs[u].push_back(RunOf(unit, state[u], begin, end, decay));
    }
  }
  return runs;
}

std::vector<std::vector<at::Tensor>> ZeroState(const std::vector<OptimizerUnit>& units,
                                               size_t tensors) {
  std::vector<std::vector<at::Tensor>> state(units.size());
  for (size_t u = 0; u < units.size(); ++u) {
    const at::Tensor& values = units[u].values;
    for (size_t i = 0; i < tensors; ++i) {
      state[u].push_back(units[u].state_rests ? FlatWithoutMemory(values.numel(), values.options())
                                              : at::zeros_like(values));
    }
  }
  return state;
}

void MultiplyGradients(const std::vector<OptimizerRun>& runs, double factor) {
  if (factor == 1.0) return;
  for (const OptimizerRun& run : runs) run.gradients.mul_(factor);
}

}  // namespace muster::trainer
