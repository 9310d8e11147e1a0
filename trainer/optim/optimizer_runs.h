#ifndef MUSTER_TRAINER_OPTIM_OPTIMIZER_RUNS_H_
#define MUSTER_TRAINER_OPTIM_OPTIMIZER_RUNS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "ATen/core/Tensor.h"
#include "trainer/optim/optimizer.h"

namespace muster::trainer {

// A run of a unit's elements that share one weight decay: views of the unit and of its state.
struct OptimizerRun {
  at::Tensor values, gradients;
  std::vector<at::Tensor> state;
  bool decay = false;
};

// Returns the run of a slice's elements from `begin` up to `end`. `state` are the unit's tensors.
OptimizerRun RunOf(const OptimizerUnit& unit, const std::vector<at::Tensor>& state, int64_t begin,
                   int64_t end, bool decay);

// Returns the runs of each unit, none of them empty. `state` has the state tensors by unit.
std::vector<std::vector<OptimizerRun>> CutIntoRuns(
    const std::vector<OptimizerUnit>& units, const std::vector<std::vector<at::Tensor>>& state);

// Returns `tensors` state tensors for each unit, with the unit's type and size: of zeros, or
// without memory if the unit's state rests elsewhere.
std::vector<std::vector<at::Tensor>> ZeroState(const std::vector<OptimizerUnit>& units,
                                               size_t tensors);

// Multiplies the gradients of runs by a factor, in a pass of its own over their memory.
void MultiplyGradients(const std::vector<OptimizerRun>& runs, double factor);

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_OPTIM_OPTIMIZER_RUNS_H_
