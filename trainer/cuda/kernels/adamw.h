#ifndef MUSTER_TRAINER_CUDA_KERNELS_ADAMW_H_
#define MUSTER_TRAINER_CUDA_KERNELS_ADAMW_H_

#include <cstdint>
#include <span>

#include "trainer/cuda/kernels/launch_result.h"

namespace muster::trainer::cuda {

// A run of parameters that are updated alike. The arrays have `count` elements.
struct AdamWRun {
  float* values = nullptr;
  const float* gradients = nullptr;
  float* first = nullptr;  // the moments
  float* second = nullptr;
  void* copy = nullptr;  // gets the new values as BF16; null: not wanted
  int64_t count = 0;
  float decay = 0;  // weight decay
};

struct AdamWStep {
  int64_t update = 1;  // counts from 1
  double learning_rate = 0;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  double gradient_scale =
      1;  // gradients are multiplied by it: clipping, or the share of valid tokens
};

// One AdamW update (Loshchilov and Hutter, 2019; PyTorch's order of operations) of all runs, in one
// launch for every 32 of them.
LaunchResult LaunchAdamW(std::span<const AdamWRun> runs, const AdamWStep& step, Stream stream);

}  // namespace muster::trainer::cuda

#endif  // MUSTER_TRAINER_CUDA_KERNELS_ADAMW_H_
