#ifndef MUSTER_AGENT_HARDWARE_NVML_LIBRARY_H_
#define MUSTER_AGENT_HARDWARE_NVML_LIBRARY_H_

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "agent/hardware/nvml_types.h"

namespace muster::agent {

// NVML (libnvidia-ml.so.1), which comes with NVIDIA's driver, loaded and initialised at run time.
// A function that the installed version lacks is null. Destroying it shuts NVML down and unloads
// it. Thread-safe as NVML is.
class NvmlLibrary {
 public:
  // `path` is a file, or a name that the dynamic loader looks up. Errors, in words for an
  // administrator: kNotFound (no such library), kFailedPrecondition (not NVML, or too old),
  // kUnavailable (NVML does not start: no driver, no device).
  static absl::StatusOr<std::unique_ptr<NvmlLibrary>> Load(const std::string& path);
  ~NvmlLibrary();
  NvmlLibrary(const NvmlLibrary&) = delete;
  NvmlLibrary& operator=(const NvmlLibrary&) = delete;

  // Returns NVML's own text for a result, as "Not Supported".
  std::string Describe(nvml::Return result) const;

  // Needed; never null.
  nvml::Return (*device_count)(uint32_t*) = nullptr;
  nvml::Return (*device_by_index)(uint32_t, nvml::Device*) = nullptr;
  nvml::Return (*device_uuid)(nvml::Device, char*, uint32_t) = nullptr;
  nvml::Return (*device_name)(nvml::Device, char*, uint32_t) = nullptr;
  nvml::Return (*pci_info)(nvml::Device, nvml::PciInfo*) = nullptr;
  nvml::Return (*memory_info)(nvml::Device, nvml::Memory*) = nullptr;
  // Optional.
  nvml::Return (*driver_version)(char*, uint32_t) = nullptr;
  nvml::Return (*utilization)(nvml::Device, nvml::Utilization*) = nullptr;
  nvml::Return (*power)(nvml::Device, uint32_t*) = nullptr;             // mW
  nvml::Return (*power_limit)(nvml::Device, uint32_t*) = nullptr;       // mW
  nvml::Return (*energy)(nvml::Device, unsigned long long*) = nullptr;  // mJ
  nvml::Return (*temperature)(nvml::Device, int32_t, uint32_t*) = nullptr;
  nvml::Return (*ecc_errors)(nvml::Device, int32_t kind, int32_t period,
                             unsigned long long*) = nullptr;
  // Corrected and uncorrected rows, then whether one is pending, and whether one has failed.
  nvml::Return (*remapped_rows)(nvml::Device, uint32_t*, uint32_t*, uint32_t*, uint32_t*) = nullptr;
  nvml::Return (*nvlink_state)(nvml::Device, uint32_t link, int32_t*) = nullptr;
  nvml::Return (*nvlink_errors)(nvml::Device, uint32_t link, int32_t counter,
                                unsigned long long*) = nullptr;
  nvml::Return (*field_values)(nvml::Device, int32_t count, nvml::FieldValue*) = nullptr;
  nvml::Return (*fabric_info)(nvml::Device, nvml::GpuFabricInfo*) = nullptr;
  nvml::Return (*peer_status)(nvml::Device, nvml::Device, int32_t kind, int32_t*) = nullptr;
  nvml::Return (*common_ancestor)(nvml::Device, nvml::Device, int32_t* level) = nullptr;
  nvml::Return (*mig_mode)(nvml::Device, uint32_t* now, uint32_t* next) = nullptr;
  nvml::Return (*most_mig_devices)(nvml::Device, uint32_t*) = nullptr;
  nvml::Return (*mig_device)(nvml::Device, uint32_t index, nvml::Device*) = nullptr;
  nvml::Return (*event_set_create)(nvml::EventSet*) = nullptr;
  nvml::Return (*event_set_free)(nvml::EventSet) = nullptr;
  nvml::Return (*register_events)(nvml::Device, unsigned long long types, nvml::EventSet) = nullptr;
  nvml::Return (*event_wait)(nvml::EventSet, nvml::EventData*, uint32_t milliseconds) = nullptr;

 private:
  NvmlLibrary() = default;
  absl::Status Bind(const std::string& path);

  void* library_ = nullptr;
  bool started_ = false;
  nvml::Return (*init_)() = nullptr;
  nvml::Return (*shutdown_)() = nullptr;
  const char* (*error_string_)(nvml::Return) = nullptr;
};

}  // namespace muster::agent

#endif  // MUSTER_AGENT_HARDWARE_NVML_LIBRARY_H_
