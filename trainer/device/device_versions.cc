#include "trainer/device/device_versions.h"

#include <string>

#include "absl/strings/str_cat.h"

namespace muster::trainer {
namespace {

int MajorOf(int cuda) { return cuda / 1000; }

std::string CudaText(int cuda) {
  return absl::StrCat("CUDA ", MajorOf(cuda), ".", cuda % 1000 / 10);
}

// Returns the driver to install, where its number is known.
std::string DriverFor(int cuda) {
  const char* const oldest = MajorOf(cuda) == 13   ? "580 or newer"
                             : MajorOf(cuda) == 12 ? "525 or newer"
                                                   : "one for it";
  return absl::StrCat("install driver ", oldest, " on the node");
}

}  // namespace

absl::Status CheckVersions(const DeviceVersions& versions, int ranks) {
  if (versions.driver == 0) {
    return absl::FailedPreconditionError(absl::StrCat(
        "no driver answers, and the image has ", CudaText(versions.cuda),
        ": run the job on nodes with GPUs whose driver is loaded, or leave workers.gpus out"));
  }
  if (MajorOf(versions.cuda) != MajorOf(versions.built_with)) {
    return absl::FailedPreconditionError(
        absl::StrCat("the image has ", CudaText(versions.cuda), ", and muster was built with ",
                     CudaText(versions.built_with), ": build the image anew with one of them"));
  }
  if (MajorOf(versions.driver) < MajorOf(versions.cuda)) {
    return absl::FailedPreconditionError(absl::StrCat(
        "the driver runs nothing newer than ", CudaText(versions.driver), ", and the image has ",
        CudaText(versions.cuda), ": ", DriverFor(versions.cuda)));
  }
  if (ranks > 1 && !versions.no_nccl.empty()) {
    return absl::FailedPreconditionError(
        absl::StrCat("several ranks communicate over NCCL, and ", versions.no_nccl,
                     ": build the image with libnccl.so.2 of the same PyTorch"));
  }
  return absl::OkStatus();
}

}  // namespace muster::trainer
