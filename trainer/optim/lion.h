#ifndef MUSTER_TRAINER_OPTIM_LION_H_
#define MUSTER_TRAINER_OPTIM_LION_H_

#include <memory>
#include <vector>

#include "trainer/optim/optimizer.h"

namespace muster::trainer {

// Lion (Chen et al., 2023, "Symbolic Discovery of Optimization Algorithms", program 1), with
// decoupled weight decay: each element moves by the learning rate against the sign of beta1 * mean
// + (1 - beta1) * gradient. The mean is the only state and decays by beta2. Where that sum is 0,
// only weight decay changes the element.
std::unique_ptr<Optimizer> MakeLion(const OptimizerOptions& options,
                                    std::vector<OptimizerUnit> units);

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_OPTIM_LION_H_
