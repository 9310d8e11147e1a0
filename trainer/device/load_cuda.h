#ifndef MUSTER_TRAINER_DEVICE_LOAD_CUDA_H_
#define MUSTER_TRAINER_DEVICE_LOAD_CUDA_H_

#include <string>

#include "absl/status/statusor.h"
#include "trainer/device/device_runtime.h"

namespace muster::trainer {

struct CudaPlaces {
  std::string driver = "libcuda.so.1";
  // LibTorch's half for GPUs, which registers its kernels as it is loaded.
  std::string torch = "libtorch_cuda.so";
  std::string library = "libmuster_cuda.so";
};

// Returns the places with muster's library beside this program, or in its folder `cuda`, as the
// build leaves it; else by its name alone.
CudaPlaces FindCuda();

// Loads what computing on GPUs needs, for the life of the process. It comes before any use of
// LibTorch, which looks for its half for GPUs once. Each place is a path or a name that the loader
// finds. FailedPrecondition, with what is missing and where it comes from: a machine without a
// driver is one that trains on CPUs.
absl::StatusOr<DeviceRuntime*> LoadCuda(const CudaPlaces& places);

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_DEVICE_LOAD_CUDA_H_
