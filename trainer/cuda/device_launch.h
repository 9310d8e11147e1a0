#ifndef MUSTER_TRAINER_CUDA_DEVICE_LAUNCH_H_
#define MUSTER_TRAINER_CUDA_DEVICE_LAUNCH_H_

#include "c10/core/Device.h"
#include "c10/util/Exception.h"
#include "trainer/cuda/cuda_status.h"
#include "trainer/cuda/kernels/launch_result.h"

namespace muster::trainer::cuda {

// Returns the stream on which this thread computes on a device.
using CurrentStream = Stream (*)(c10::Device device);

// Throws LibTorch's exception for a launch that failed; `what` names the work, as "summing
// squares".
inline void CheckLaunch(const LaunchResult& result, const char* what) {
  const absl::Status status = ToStatus(result, what);
  TORCH_CHECK(status.ok(), status.message());
}

}  // namespace muster::trainer::cuda

#endif  // MUSTER_TRAINER_CUDA_DEVICE_LAUNCH_H_
