#include "tests/gpu/use_device.h"

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "trainer/device/device_runtime.h"
#include "trainer/device/load_cuda.h"
#include "trainer/kernels/kernels.h"

namespace muster::trainer {

absl::StatusOr<c10::Device> UseDevice(const std::string& name) {
  if (name == "cpu") return c10::Device(c10::DeviceType::CPU);
  if (name != "cuda") {
    return absl::InvalidArgumentError(absl::StrCat("\"", name, "\" is no device: cpu or cuda"));
  }
  MUSTER_ASSIGN_OR_RETURN(DeviceRuntime* const runtime, LoadCuda(FindCuda()));
  MUSTER_RETURN_IF_ERROR(runtime->Use(0));
  RegisterKernels(runtime->type(), runtime->kernels());
  return c10::Device(runtime->type(), 0);
}

}  // namespace muster::trainer
