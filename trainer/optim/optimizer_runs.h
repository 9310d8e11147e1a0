#ifndef MUSTER_TRAINER_OPTIM_OPTIMIZER_RUNS_H_
#define MUSTER_TRAINER_OPTIM_OPTIMIZER_RUNS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "ATen/core/Tensor.h"
#include "trainer/optim/optimizer.h"

namespace muster::trainer {

// A run of a unit's elements that are updated alike: views of the unit and of its state.
struct OptimizerRun {
  at::Tensor values, gradients;
  std::vector<at::Tensor> state;
  UpdateSettings settings;

  double WeightDecay(const OptimizerOptions& options) const {
    return settings.weight_decay.value_or(settings.decay ? options.weight_decay : 0.0);
  }
  double LearningRate(const UpdateOptions& options) const {
    return settings.rate_factor * options.learning_rate;
  }
};

// The elements of a slice from `begin` up to `end`, which are updated alike.
struct AlikeElements {
  int64_t begin = 0, end = 0;
  UpdateSettings settings;
};

// Cuts a slice where the settings change; the zeros after a tensor go with it.
std::vector<AlikeElements> CutBySettings(const OptimizerUnit& unit);

// Returns the run of a slice's elements from `begin` up to `end`. `state` are the unit's tensors.
OptimizerRun RunOf(const OptimizerUnit& unit, const std::vector<at::Tensor>& state, int64_t begin,
                   int64_t end, const UpdateSettings& settings);

// Returns the runs of each unit, none of them empty. `state` has the state tensors by unit.
std::vector<std::vector<OptimizerRun>> CutIntoRuns(
    const std::vector<OptimizerUnit>& units, const std::vector<std::vector<at::Tensor>>& state);

// Returns `tensors` state tensors for each unit, with the unit's type and size. They are zeros, or
// without memory if the unit's state rests elsewhere.
std::vector<std::vector<at::Tensor>> ZeroState(const std::vector<OptimizerUnit>& units,
                                               size_t tensors);

// Multiplies the gradients of runs by a factor, in a pass of its own over their memory.
void MultiplyGradients(const std::vector<OptimizerRun>& runs, double factor);

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_OPTIM_OPTIMIZER_RUNS_H_
