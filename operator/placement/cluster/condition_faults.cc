#include "operator/placement/cluster/condition_faults.h"

#include "absl/strings/str_cat.h"
#include "base/json_fields.h"

namespace muster::control {
namespace {

struct FaultCondition {
  std::string_view type;
  std::string_view broken;  // the status of a node with the fault
  std::string ConditionFaults::* concerns;
};

constexpr auto kGpus = &ConditionFaults::gpus;
constexpr auto kNetwork = &ConditionFaults::network;
constexpr auto kRdma = &ConditionFaults::rdma;
constexpr auto kMachine = &ConditionFaults::machine;

constexpr FaultCondition kFaultConditions[] = {
    {"muster.dev/GPUHealthy", "False", kGpus},
    {"muster.dev/InfinibandHealthy", "False", kRdma},
    {"muster.dev/DisksHealthy", "False", kMachine},
    // The node monitoring agent of EKS.
    {"AcceleratedHardwareReady", "False", kGpus},
    {"NetworkingReady", "False", kNetwork},
    {"StorageReady", "False", kMachine},
    {"KernelReady", "False", kMachine},
    // The node problem detector of AKS.
    {"GPUMissing", "True", kGpus},
    {"NVLinkStatusInactive", "True", kGpus},
    {"IBLinkFlapping", "True", kRdma},
    {"FilesystemCorruptionProblem", "True", kMachine},
    // Node problem detector everywhere.
    {"ReadonlyFilesystem", "True", kMachine},
    // NVSentinel.
    {"GpuMemWatch", "True", kGpus},
    {"GpuNvlinkWatch", "True", kGpus},
    {"GpuPcieWatch", "True", kGpus},
    {"GpuSmWatch", "True", kGpus},
    {"NVSwitchDown", "True", kGpus},
    {"NVSwitchFatalError", "True", kGpus},
    {"SysLogsGPUFallenOff", "True", kGpus},
    {"SysLogsSXIDError", "True", kGpus},
    {"SysLogsXIDError", "True", kGpus},
};

}  // namespace

void NoteCondition(std::string_view type, std::string_view status, std::string_view reason,
                   ConditionFaults& faults) {
  for (const FaultCondition& fault : kFaultConditions) {
    if (fault.type != type || fault.broken != status) continue;
    std::string& sentence = faults.*fault.concerns;
    if (!sentence.empty()) return;
    sentence = absl::StrCat(std::string(type), " is ", std::string(status), " (",
                            std::string(reason), ")");
    return;
  }
}

ConditionFaults ReadConditionFaults(const Json& status) {
  ConditionFaults faults;
  for (const Json& condition : ArrayField(status, "conditions")) {
    NoteCondition(StringField(condition, "type"), StringField(condition, "status"),
                  StringField(condition, "reason"), faults);
  }
  return faults;
}

}  // namespace muster::control
