#ifndef MUSTER_AGENT_HARDWARE_VISIBLE_GPUS_H_
#define MUSTER_AGENT_HARDWARE_VISIBLE_GPUS_H_

#include <string>

#include "agent/hardware/reading.h"

namespace muster::agent {

// Leaves the devices that a list names, in the order of the driver; `list` is the value of
// NVIDIA_VISIBLE_DEVICES or CUDA_VISIBLE_DEVICES: UUIDs or their beginnings, or the driver's
// indices of GPUs, with commas between them. A word for another way of giving a container its GPUs
// ("all", "void", "none", a path) and an empty list leave all, because the container then sees no
// more than its own. Pure.
GpuDevices SelectVisible(GpuDevices devices, const std::string& list);

}  // namespace muster::agent

#endif  // MUSTER_AGENT_HARDWARE_VISIBLE_GPUS_H_
