#ifndef MUSTER_AGENT_HARDWARE_KERNEL_CLOCK_H_
#define MUSTER_AGENT_HARDWARE_KERNEL_CLOCK_H_

#include <optional>

#include "agent/hardware/reading.h"

namespace muster::agent {

// Asks the kernel how well its clock is set, which needs no rights. Returns nullopt where the call
// is not allowed, as in some sandboxes.
std::optional<ClockReading> ReadKernelClock();

}  // namespace muster::agent

#endif  // MUSTER_AGENT_HARDWARE_KERNEL_CLOCK_H_
