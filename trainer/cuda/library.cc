#include "trainer/cuda/library.h"

#include <cuda_runtime_api.h>

#include <cstdint>
#include <utility>

#include "base/status_macros.h"
#include "trainer/cuda/cuda_queue.h"
#include "trainer/cuda/cuda_status.h"
#include "trainer/cuda/kernels/chunk_squares.h"

namespace muster::trainer::cuda {
namespace {

constexpr int64_t kChunk = 4096;

absl::Status RunCheck(float* values, double* sum) {
  MUSTER_RETURN_IF_ERROR(CudaStatus(cudaMemset(values, 0, kChunk * sizeof(float)), "cudaMemset"));
  const float three = 3.0f;
  MUSTER_RETURN_IF_ERROR(CudaStatus(
      cudaMemcpy(values + 77, &three, sizeof(three), cudaMemcpyHostToDevice), "cudaMemcpy"));
  MUSTER_RETURN_IF_ERROR(
      ToStatus(LaunchChunkSquares(values, 1, kChunk, sum, nullptr), "the first kernel"));
  double result = 0;
  MUSTER_RETURN_IF_ERROR(CudaStatus(
      cudaMemcpy(&result, sum, sizeof(result), cudaMemcpyDeviceToHost), "the first kernel"));
  if (result == 9.0) return absl::OkStatus();
  return absl::InternalError("the device computes wrongly: a sum of squares is not 9");
}

absl::Status Check(int device) {
  MUSTER_RETURN_IF_ERROR(CudaStatus(cudaSetDevice(device), "no GPU can be used"));
  float* values = nullptr;
  double* sum = nullptr;
  absl::Status status = CudaStatus(cudaMalloc(&values, kChunk * sizeof(float)), "cudaMalloc");
  if (status.ok()) status = CudaStatus(cudaMalloc(&sum, sizeof(double)), "cudaMalloc");
  if (status.ok()) status = RunCheck(values, sum);
  status.Update(CudaStatus(cudaFree(values), "cudaFree"));
  status.Update(CudaStatus(cudaFree(sum), "cudaFree"));
  return status;
}

}  // namespace

const CudaLibrary* MusterCudaLibrary() {
  static constexpr CudaLibrary kLibrary{
      .check = Check, .make_queue = MakeCudaQueue, .make_nccl_connector = [](NcclOptions options) {
        return std::make_unique<NcclConnector>(std::move(options));
      }};
  return &kLibrary;
}

}  // namespace muster::trainer::cuda
