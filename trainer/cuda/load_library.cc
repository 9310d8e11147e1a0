#include "trainer/cuda/load_library.h"

#include <dlfcn.h>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace muster::trainer::cuda {
namespace {

absl::StatusOr<void*> Load(const std::string& path, int flags, const char* without) {
  void* const handle = dlopen(path.c_str(), RTLD_NOW | flags);
  if (handle != nullptr) return handle;
  return absl::FailedPreconditionError(absl::StrCat(without, ": ", dlerror()));
}

}  // namespace

absl::StatusOr<const CudaLibrary*> LoadCudaLibrary(const LibraryPlaces& places) {
  MUSTER_RETURN_IF_ERROR(
      Load(places.driver, RTLD_GLOBAL, "this machine has no NVIDIA driver").status());
  if (!places.torch.empty()) {
    MUSTER_RETURN_IF_ERROR(Load(places.torch, RTLD_GLOBAL,
                                "LibTorch's library for GPUs (of PyTorch 2.11 for CUDA 13) "
                                "cannot be loaded")
                               .status());
  }
  MUSTER_ASSIGN_OR_RETURN(void* const handle, Load(places.library, RTLD_LOCAL,
                                                   "muster's library for GPUs cannot be loaded"));
  const auto table =
      reinterpret_cast<decltype(&MusterCudaLibrary)>(dlsym(handle, "MusterCudaLibrary"));
  if (table == nullptr) {
    return absl::FailedPreconditionError(
        absl::StrCat(places.library, " is not muster's library for GPUs"));
  }
  return table();
}

}  // namespace muster::trainer::cuda
