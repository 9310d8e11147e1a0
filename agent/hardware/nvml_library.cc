#include "agent/hardware/nvml_library.h"

#include <dlfcn.h>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace muster::agent {
namespace {

template <typename Function>
void Find(void* library, const char* name, Function*& into) {
  into = reinterpret_cast<Function*>(::dlsym(library, name));
}

std::string LastError() {
  const char* error = ::dlerror();
  return error == nullptr ? "no reason is given" : error;
}

}  // namespace

absl::Status NvmlLibrary::Bind(const std::string& path) {
  const auto need = [&](const char* name, auto*& into) {
    Find(library_, name, into);
    if (into != nullptr) return absl::OkStatus();
    return absl::FailedPreconditionError(
        absl::StrCat(path, " has no function ", name, ": not NVML, or too old"));
  };
  MUSTER_RETURN_IF_ERROR(need("nvmlInit_v2", init_));
  MUSTER_RETURN_IF_ERROR(need("nvmlShutdown", shutdown_));
  MUSTER_RETURN_IF_ERROR(need("nvmlErrorString", error_string_));
  MUSTER_RETURN_IF_ERROR(need("nvmlDeviceGetCount_v2", device_count));
  MUSTER_RETURN_IF_ERROR(need("nvmlDeviceGetHandleByIndex_v2", device_by_index));
  MUSTER_RETURN_IF_ERROR(need("nvmlDeviceGetUUID", device_uuid));
  MUSTER_RETURN_IF_ERROR(need("nvmlDeviceGetName", device_name));
  MUSTER_RETURN_IF_ERROR(need("nvmlDeviceGetPciInfo_v3", pci_info));
  MUSTER_RETURN_IF_ERROR(need("nvmlDeviceGetMemoryInfo", memory_info));
  Find(library_, "nvmlSystemGetDriverVersion", driver_version);
  Find(library_, "nvmlDeviceGetUtilizationRates", utilization);
  Find(library_, "nvmlDeviceGetPowerUsage", power);
  Find(library_, "nvmlDeviceGetEnforcedPowerLimit", power_limit);
  Find(library_, "nvmlDeviceGetTotalEnergyConsumption", energy);
  Find(library_, "nvmlDeviceGetTemperature", temperature);
  Find(library_, "nvmlDeviceGetTotalEccErrors", ecc_errors);
  Find(library_, "nvmlDeviceGetRemappedRows", remapped_rows);
  Find(library_, "nvmlDeviceGetNvLinkState", nvlink_state);
  Find(library_, "nvmlDeviceGetNvLinkErrorCounter", nvlink_errors);
  Find(library_, "nvmlDeviceGetFieldValues", field_values);
  Find(library_, "nvmlDeviceGetGpuFabricInfo", fabric_info);
  Find(library_, "nvmlDeviceGetP2PStatus", peer_status);
  Find(library_, "nvmlDeviceGetTopologyCommonAncestor", common_ancestor);
  Find(library_, "nvmlDeviceGetMigMode", mig_mode);
  Find(library_, "nvmlDeviceGetMaxMigDeviceCount", most_mig_devices);
  Find(library_, "nvmlDeviceGetMigDeviceHandleByIndex", mig_device);
  Find(library_, "nvmlEventSetCreate", event_set_create);
  Find(library_, "nvmlEventSetFree", event_set_free);
  Find(library_, "nvmlDeviceRegisterEvents", register_events);
  Find(library_, "nvmlEventSetWait_v2", event_wait);
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<NvmlLibrary>> NvmlLibrary::Load(const std::string& path) {
  std::unique_ptr<NvmlLibrary> nvml(new NvmlLibrary);
  nvml->library_ = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (nvml->library_ == nullptr) {
    return absl::NotFoundError(absl::StrCat("NVML is not here: ", LastError()));
  }
  MUSTER_RETURN_IF_ERROR(nvml->Bind(path));
  const nvml::Return result = nvml->init_();
  if (result != nvml::kSuccess) {
    return absl::UnavailableError(absl::StrCat("NVML does not start: ", nvml->Describe(result)));
  }
  nvml->started_ = true;
  return nvml;
}

NvmlLibrary::~NvmlLibrary() {
  if (started_) shutdown_();
  if (library_ != nullptr) ::dlclose(library_);
}

std::string NvmlLibrary::Describe(nvml::Return result) const {
  const char* text = error_string_ == nullptr ? nullptr : error_string_(result);
  return absl::StrCat(text == nullptr ? "unknown error" : text, " (", result, ")");
}

}  // namespace muster::agent
