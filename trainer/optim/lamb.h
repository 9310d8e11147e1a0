#ifndef MUSTER_TRAINER_OPTIM_LAMB_H_
#define MUSTER_TRAINER_OPTIM_LAMB_H_

#include <memory>
#include <vector>

#include "trainer/optim/optimizer.h"

namespace muster::trainer {

// LAMB (You et al., 2020, algorithm 2), with phi(x) = x: for each tensor x, of gradient g,
//   m <- beta1 m + (1 - beta1) g         v <- beta2 v + (1 - beta2) g^2
//   u = m / (1 - beta1^t) / (sqrt(v / (1 - beta2^t)) + epsilon) + decay x
//   x <- x - rate |x| / |u| u
// Where |x| or |u| is zero the ratio is 1, as in the authors' program. The norms are those of whole
// tensors, however ranks divide them, which Prepare adds up in FP64 (tensor_squares.h). Beside its
// state, exp_avg and exp_avg_sq, it has the updates of 2^20 elements in memory at a time.
std::unique_ptr<Optimizer> MakeLamb(const OptimizerOptions& options,
                                    std::vector<OptimizerUnit> units);

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_OPTIM_LAMB_H_
