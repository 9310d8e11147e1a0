#ifndef MUSTER_TRAINER_CUDA_LIBRARY_H_
#define MUSTER_TRAINER_CUDA_LIBRARY_H_

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "trainer/cuda/nccl_communicator.h"

namespace muster::trainer::cuda {

// The functions that libmuster_cuda.so offers to muster-trainer. Both are built from one tree: the
// table has no versions. Functions may be called from any thread.
struct CudaLibrary {
  // Runs a kernel and reads its result, as proof that driver, runtime and machine code go together.
  // FailedPrecondition, in words, where they do not.
  absl::Status (*check)(int device) = nullptr;
  // A stream beside LibTorch's current one on `device`, for NcclOptions.
  absl::StatusOr<std::unique_ptr<DeviceQueue>> (*make_queue)(int device) = nullptr;
  std::unique_ptr<NcclConnector> (*make_nccl_connector)(NcclOptions options) = nullptr;
};

// The table of this library, under the name that LoadCudaLibrary() looks up.
extern "C" const CudaLibrary* MusterCudaLibrary();

}  // namespace muster::trainer::cuda

#endif  // MUSTER_TRAINER_CUDA_LIBRARY_H_
