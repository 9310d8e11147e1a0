#ifndef MUSTER_TRAINER_CUDA_DEVICE_QUEUE_H_
#define MUSTER_TRAINER_CUDA_DEVICE_QUEUE_H_

#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "trainer/cuda/kernels/launch_result.h"

namespace muster::trainer::cuda {

// A place in a queue.
class QueueMark {
 public:
  virtual ~QueueMark() = default;
  // Returns whether the device has passed it, without waiting. Internal if the device has failed.
  virtual absl::StatusOr<bool> Passed() = 0;
};

// One stream of a device, beside the one on which the trainer computes: the seam to CUDA's streams
// and events. Used by one thread.
class DeviceQueue {
 public:
  virtual ~DeviceQueue() = default;
  virtual Stream stream() const = 0;
  // Work that is enqueued from now on waits for what the trainer's stream has to do by now.
  virtual absl::Status WaitForCompute() = 0;
  virtual absl::StatusOr<std::unique_ptr<QueueMark>> Mark() = 0;
};

}  // namespace muster::trainer::cuda

#endif  // MUSTER_TRAINER_CUDA_DEVICE_QUEUE_H_
