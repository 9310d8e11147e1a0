#ifndef MUSTER_TRAINER_CUDA_DEVICE_ADAMW_H_
#define MUSTER_TRAINER_CUDA_DEVICE_ADAMW_H_

#include <memory>

#include "trainer/cuda/device_launch.h"
#include "trainer/kernels/adamw_kernel.h"

namespace muster::trainer::cuda {

// Makes AdamW as the kernel of a card (trainer/cuda/kernels), which is enqueued on the current
// stream of its tensors' device.
std::unique_ptr<AdamWKernel> MakeDeviceAdamW(CurrentStream current);

}  // namespace muster::trainer::cuda

#endif  // MUSTER_TRAINER_CUDA_DEVICE_ADAMW_H_
