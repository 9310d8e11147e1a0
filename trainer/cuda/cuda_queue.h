#ifndef MUSTER_TRAINER_CUDA_CUDA_QUEUE_H_
#define MUSTER_TRAINER_CUDA_CUDA_QUEUE_H_

#include <memory>

#include "absl/status/statusor.h"
#include "trainer/cuda/device_queue.h"

namespace muster::trainer::cuda {

// Makes a stream of high priority on `device`, beside LibTorch's current stream there, which is the
// one on which the trainer computes.
absl::StatusOr<std::unique_ptr<DeviceQueue>> MakeCudaQueue(int device);

}  // namespace muster::trainer::cuda

#endif  // MUSTER_TRAINER_CUDA_CUDA_QUEUE_H_
