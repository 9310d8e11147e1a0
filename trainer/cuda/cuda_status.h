#ifndef MUSTER_TRAINER_CUDA_CUDA_STATUS_H_
#define MUSTER_TRAINER_CUDA_CUDA_STATUS_H_

#include <string_view>

#include "absl/status/status.h"
#include "trainer/cuda/kernels/launch_result.h"

namespace muster::trainer::cuda {

// A status for a cudaError_t, with CUDA's own words after `what`: ResourceExhausted for memory,
// FailedPrecondition where no driver or device answers, Internal for everything else.
absl::Status CudaStatus(int code, std::string_view what);
inline absl::Status ToStatus(const LaunchResult& result, std::string_view what) {
  return CudaStatus(result.code, what);
}

}  // namespace muster::trainer::cuda

#endif  // MUSTER_TRAINER_CUDA_CUDA_STATUS_H_
