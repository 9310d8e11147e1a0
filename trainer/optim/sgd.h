#ifndef MUSTER_TRAINER_OPTIM_SGD_H_
#define MUSTER_TRAINER_OPTIM_SGD_H_

#include <memory>
#include <vector>

#include "trainer/optim/optimizer.h"

namespace muster::trainer {

// SGD as PyTorch defines it: weight decay joins the gradient, momentum without dampening. Its state
// is the momentum, if there is any.
std::unique_ptr<Optimizer> MakeSgd(const OptimizerOptions& options,
                                   std::vector<OptimizerUnit> units);

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_OPTIM_SGD_H_
