#include "trainer/device/load_cuda.h"

#include <dlfcn.h>
#include <unistd.h>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace muster::trainer {
namespace {

constexpr char kUseGpuNodes[] = "run the job on nodes with GPUs, or leave workers.gpus out";
constexpr char kBuildImage[] = "build the workers' image with the part for GPUs, docs/gpu.md";

absl::StatusOr<void*> Load(const std::string& path, int flags, const char* without,
                           const char* instead) {
  void* const handle = dlopen(path.c_str(), RTLD_NOW | flags);
  if (handle != nullptr) return handle;
  return absl::FailedPreconditionError(absl::StrCat(without, ": ", dlerror(), ": ", instead));
}

}  // namespace

CudaPlaces FindCuda() {
  CudaPlaces places;
  char program[4096];
  const ssize_t length = readlink("/proc/self/exe", program, sizeof(program));
  if (length <= 0 || length == static_cast<ssize_t>(sizeof(program))) return places;
  const std::string path(program, static_cast<size_t>(length));
  const std::string folder = path.substr(0, path.rfind('/'));
  for (const std::string& inside : {folder, folder + "/cuda"}) {
    const std::string library = absl::StrCat(inside, "/libmuster_cuda.so");
    if (access(library.c_str(), R_OK) != 0) continue;
    places.library = library;
    return places;
  }
  return places;
}

absl::StatusOr<DeviceRuntime*> LoadCuda(const CudaPlaces& places) {
  MUSTER_RETURN_IF_ERROR(
      Load(places.driver, RTLD_GLOBAL, "this machine has no NVIDIA driver", kUseGpuNodes).status());
  if (!places.torch.empty()) {
    MUSTER_RETURN_IF_ERROR(Load(places.torch, RTLD_GLOBAL,
                                "LibTorch's library for GPUs (of PyTorch 2.11 for CUDA 13) "
                                "cannot be loaded",
                                kBuildImage)
                               .status());
  }
  MUSTER_ASSIGN_OR_RETURN(
      void* const handle,
      Load(places.library, RTLD_LOCAL, "muster's library for GPUs cannot be loaded", kBuildImage));
  const auto runtime =
      reinterpret_cast<decltype(&MusterDeviceRuntime)>(dlsym(handle, "MusterDeviceRuntime"));
  if (runtime == nullptr) {
    return absl::FailedPreconditionError(
        absl::StrCat(places.library, " is not muster's library for GPUs"));
  }
  return runtime();
}

}  // namespace muster::trainer
