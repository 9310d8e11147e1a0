#include "operator/placement/cluster/gpu_faults.h"

#include "absl/strings/str_cat.h"

namespace muster::control {
namespace {

struct FaultCondition {
  std::string_view type;
  std::string_view broken;  // the status of a node with the fault
};

constexpr FaultCondition kFaultConditions[] = {
    {"muster.dev/GPUHealthy", "False"},
    // The node monitoring agent of EKS.
    {"AcceleratedHardwareReady", "False"},
    // The node problem detector of AKS.
    {"GPUMissing", "True"},
    {"NVLinkStatusInactive", "True"},
    // NVSentinel.
    {"GpuMemWatch", "True"},
    {"GpuNvlinkWatch", "True"},
    {"GpuPcieWatch", "True"},
    {"GpuSmWatch", "True"},
    {"NVSwitchDown", "True"},
    {"NVSwitchFatalError", "True"},
    {"SysLogsGPUFallenOff", "True"},
    {"SysLogsSXIDError", "True"},
    {"SysLogsXIDError", "True"},
};

}  // namespace

std::optional<std::string> FindGpuFault(std::string_view type, std::string_view status,
                                        std::string_view reason) {
  for (const FaultCondition& fault : kFaultConditions) {
    if (fault.type != type || fault.broken != status) continue;
    return absl::StrCat(std::string(type), " is ", std::string(status), " (", std::string(reason),
                        ")");
  }
  return std::nullopt;
}

}  // namespace muster::control
