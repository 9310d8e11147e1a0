#ifndef MUSTER_TRAINER_CUDA_CUDA_RUNTIME_H_
#define MUSTER_TRAINER_CUDA_CUDA_RUNTIME_H_

#include <memory>

#include "trainer/device/device_runtime.h"

namespace muster::trainer::cuda {

// NVIDIA's GPUs, over LibTorch's allocator and streams, and NCCL.
std::unique_ptr<DeviceRuntime> MakeCudaRuntime();

}  // namespace muster::trainer::cuda

#endif  // MUSTER_TRAINER_CUDA_CUDA_RUNTIME_H_
