#ifndef MUSTER_TRAINER_CUDA_LOAD_LIBRARY_H_
#define MUSTER_TRAINER_CUDA_LOAD_LIBRARY_H_

#include <string>

#include "absl/status/statusor.h"
#include "trainer/cuda/library.h"

namespace muster::trainer::cuda {

struct LibraryPlaces {
  std::string driver = "libcuda.so.1";
  // LibTorch's half for GPUs, which registers its kernels as it is loaded.
  std::string torch = "libtorch_cuda.so";
  std::string library = "libmuster_cuda.so";
};

// Loads what computing on GPUs needs, for the life of the process. Each place is a path or a name
// that the loader finds. FailedPrecondition, with what is missing and where it comes from: a
// machine without a driver is one that trains on CPUs.
absl::StatusOr<const CudaLibrary*> LoadCudaLibrary(const LibraryPlaces& places);

}  // namespace muster::trainer::cuda

#endif  // MUSTER_TRAINER_CUDA_LOAD_LIBRARY_H_
