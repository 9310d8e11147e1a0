#ifndef MUSTER_TRAINER_OPTIM_LION_H_
#define MUSTER_TRAINER_OPTIM_LION_H_

#include <memory>
#include <vector>

#include "trainer/optim/optimizer.h"

namespace muster::trainer {

// Lion (Chen et al., 2023, "Symbolic Discovery of Optimization Algorithms", program 1): a step of
// one size in each coordinate, in the direction of the sign of beta1 * mean + (1 - beta1) *
// gradient, with decoupled weight decay. The mean, which is its only state, decays by beta2. An
// element of which that sum is 0 moves by its decay alone.
std::unique_ptr<Optimizer> MakeLion(const OptimizerOptions& options,
                                    std::vector<OptimizerUnit> units);

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_OPTIM_LION_H_
