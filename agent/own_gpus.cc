#include "agent/own_gpus.h"

#include "agent/hardware/gpu_devices.h"
#include "agent/hardware/sysfs_tree.h"

namespace muster::agent {

GpuDevices ReadOwnGpus(const std::string& nvml) { return ReadGpuDevices(nvml, SysfsTree("/sys")); }

}  // namespace muster::agent
