#include "trainer/cuda/cuda_status.h"

#include <cuda_runtime_api.h>

#include "gtest/gtest.h"

namespace muster::trainer::cuda {
namespace {

TEST(CudaStatusTest, ErrorsHaveCudasWordsAndACodeForWhatCanBeDone) {
  EXPECT_EQ(CudaStatus(cudaSuccess, "copy"), absl::OkStatus());
  EXPECT_EQ(CudaStatus(cudaErrorMemoryAllocation, "copy"),
            absl::ResourceExhaustedError("copy: out of memory (cudaErrorMemoryAllocation)"));
  EXPECT_EQ(CudaStatus(cudaErrorNoDevice, "copy"),
            absl::FailedPreconditionError(
                "copy: no CUDA-capable device is detected (cudaErrorNoDevice)"));
  EXPECT_EQ(ToStatus({cudaErrorIllegalAddress}, "norm"),
            absl::InternalError(
                "norm: an illegal memory access was encountered (cudaErrorIllegalAddress)"));
}

}  // namespace
}  // namespace muster::trainer::cuda
