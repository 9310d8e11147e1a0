#ifndef MUSTER_AGENT_HARDWARE_VISIBLE_GPUS_H_
#define MUSTER_AGENT_HARDWARE_VISIBLE_GPUS_H_

#include <string>

#include "agent/hardware/reading.h"

namespace muster::agent {

// Both leave the devices that a list names, in the order of the driver, where each entry of the
// list is a UUID or the beginning of one; commas are between them. A word for another way of giving
// a container its GPUs ("all", "void", "none", a path, "0:1") and an empty list leave all, because
// the container then sees no more than its own. Pure.

// `list` is the value of NVIDIA_VISIBLE_DEVICES. Its numbers count the GPUs of the machine, which a
// container that sees its own alone cannot know: they leave all, too.
GpuDevices SelectGiven(GpuDevices devices, const std::string& list);

// `list` is the value of CUDA_VISIBLE_DEVICES: numbers are the driver's indices of GPUs.
GpuDevices SelectChosen(GpuDevices devices, const std::string& list);

}  // namespace muster::agent

#endif  // MUSTER_AGENT_HARDWARE_VISIBLE_GPUS_H_
