#include "trainer/optim/optimizer_runs.h"

#include <algorithm>
#include <cstdint>

#include "ATen/ops/zeros_like.h"
#include "trainer/parallel/flat_memory.h"

namespace muster::trainer {

std::vector<AlikeElements> CutBySettings(const OptimizerUnit& unit) {
  const int64_t all = unit.values.numel();
  std::vector<AlikeElements> out;
  // Appends a run from `begin` of the slice on, which ends the one before it.
  const auto append = [&](int64_t begin, const UpdateSettings& settings) {
    if (!out.empty() && out.back().settings == settings) return;
    if (!out.empty()) out.back().end = begin;
    if (!out.empty() && out.back().begin == begin) out.pop_back();
    out.push_back({begin, all, settings});
  };
  if (unit.tensors.empty()) {
    if (unit.decay_elements > 0) append(0, {.decay = true});
    if (unit.decay_elements < all) append(unit.decay_elements, {});
    return out;
  }
  for (const OptimizerTensor& tensor : unit.tensors) {
    if (const int64_t begin = tensor.offset - unit.begin; begin < all) {
      append(std::max<int64_t>(0, begin), tensor.settings);
    }
  }
  if (all == 0) out.clear();
  return out;
}

OptimizerRun RunOf(const OptimizerUnit& unit, const std::vector<at::Tensor>& state, int64_t begin,
                   int64_t end, const UpdateSettings& settings) {
  OptimizerRun run{.values = unit.values.narrow(0, begin, end - begin),
                   .gradients = unit.gradients.narrow(0, begin, end - begin),
                   .settings = settings};
  for (const at::Tensor& tensor : state) run.state.push_back(tensor.narrow(0, begin, end - begin));
  return run;
}

std::vector<std::vector<OptimizerRun>> CutIntoRuns(
    const std::vector<OptimizerUnit>& units, const std::vector<std::vector<at::Tensor>>& state) {
  std::vector<std::vector<OptimizerRun>> runs(units.size());
  for (size_t u = 0; u < units.size(); ++u) {
    for (const AlikeElements& alike : CutBySettings(units[u])) {
      runs[u].push_back(RunOf(units[u], state[u], alike.begin, alike.end, alike.settings));
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
