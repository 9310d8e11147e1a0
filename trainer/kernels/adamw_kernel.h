#ifndef MUSTER_TRAINER_KERNELS_ADAMW_KERNEL_H_
#define MUSTER_TRAINER_KERNELS_ADAMW_KERNEL_H_

#include <cstdint>
#include <span>

#include "ATen/core/Tensor.h"

namespace muster::trainer {

// Elements that share one weight decay: flat FP32 tensors of one size.
struct AdamWElements {
  at::Tensor values, gradients;
  at::Tensor first, second;  // the moments
  double decay = 0.0;
};

struct AdamWUpdate {
  int64_t update = 1;  // counts from 1
  double learning_rate = 0.0;
  double beta1 = 0.9, beta2 = 0.95;
  double epsilon = 1e-8;
  double gradient_factor = 1.0;  // gradients are multiplied by it as they are read
};

// AdamW (Loshchilov and Hutter, 2019) in PyTorch's order of operations, in one pass over memory.
// It computes in FP32 and leaves the gradients as they are. Nothing waits for the device. Errors
// are exceptions of LibTorch. Thread-safe.
class AdamWKernel {
 public:
  virtual ~AdamWKernel() = default;

  // Updates values and moments, which are all on one device, in place.
  virtual void Update(std::span<const AdamWElements> runs, const AdamWUpdate& update) const = 0;
};

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_KERNELS_ADAMW_KERNEL_H_
