#ifndef MUSTER_AGENT_OWN_GPUS_H_
#define MUSTER_AGENT_OWN_GPUS_H_

#include <string>

#include "agent/hardware/reading.h"

namespace muster::agent {

// Returns the GPUs of this machine or container. The program without a shared library cannot load
// that of the driver and finds none: it runs commands in images of their own, never the trainer.
GpuDevices ReadOwnGpus(const std::string& nvml);

}  // namespace muster::agent

#endif  // MUSTER_AGENT_OWN_GPUS_H_
