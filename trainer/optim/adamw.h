#ifndef MUSTER_TRAINER_OPTIM_ADAMW_H_
#define MUSTER_TRAINER_OPTIM_ADAMW_H_

#include <memory>
#include <vector>

#include "trainer/optim/optimizer.h"

namespace muster::trainer {

// AdamW: Adam (Kingma and Ba, 2015) with decoupled weight decay (Loshchilov and Hutter, 2019), one
// fused pass over each run of a unit, by the kernel of its device (trainer/kernels) if that has one
// for its type. Its state is the two moments.
std::unique_ptr<Optimizer> MakeAdamW(const OptimizerOptions& options,
                                     std::vector<OptimizerUnit> units);

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_OPTIM_ADAMW_H_
