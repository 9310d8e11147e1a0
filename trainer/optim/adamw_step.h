#ifndef MUSTER_TRAINER_OPTIM_ADAMW_STEP_H_
#define MUSTER_TRAINER_OPTIM_ADAMW_STEP_H_

#include <cstdint>
#include <vector>

#include "ATen/core/Tensor.h"
#include "trainer/optim/optimizer.h"
#include "trainer/optim/optimizer_runs.h"

namespace muster::trainer {

// AdamW of some runs (Loshchilov and Hutter, 2019), as PyTorch computes it: by the kernel of their
// device, or by LibTorch. Not thread-safe.
class AdamWStep {
 public:
  // The runs have one type, and two state tensors: the running means of gradients and of their
  // squares. The gradients are overwritten.
  void Apply(const std::vector<OptimizerRun>& runs, const OptimizerOptions& options,
             const UpdateOptions& update);

 private:
  const at::Tensor& Count(int64_t update, const at::Tensor& values);

  at::Tensor count_;
  int64_t counted_ = 0;
};

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_OPTIM_ADAMW_STEP_H_
