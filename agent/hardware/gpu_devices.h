#ifndef MUSTER_AGENT_HARDWARE_GPU_DEVICES_H_
#define MUSTER_AGENT_HARDWARE_GPU_DEVICES_H_

#include <string>

#include "agent/hardware/reading.h"
#include "agent/hardware/sysfs_tree.h"

namespace muster::agent {

// Reads the devices on which CUDA can compute here: in a container those that it was given, else
// all of the machine. GPUs that the driver has lost, and GPUs in MIG mode without a MIG device, are
// not listed. `nvml` as for NvmlLibrary::Load(). Blocks until the driver is up: seconds on a
// machine whose driver does not stay loaded.
GpuDevices ReadGpuDevices(const std::string& nvml, const SysfsTree& sys);

}  // namespace muster::agent

#endif  // MUSTER_AGENT_HARDWARE_GPU_DEVICES_H_
