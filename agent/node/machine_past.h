#ifndef MUSTER_AGENT_NODE_MACHINE_PAST_H_
#define MUSTER_AGENT_NODE_MACHINE_PAST_H_

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "agent/hardware/reading.h"
#include "agent/node/health_fault.h"
#include "agent/node/link_health.h"

namespace muster::agent {

// The behaviour of a machine's ports and disks since it started, by which they are judged. It is
// kept as a file below /run, which is empty after each start of the machine. Times are in whole
// seconds of a clock that starts with the machine, too.
struct MachinePast {
  std::map<std::string, LinkPast> ports;  // by PortName()
  // By the disk's name: the time since which its controller has failed.
  std::map<std::string, absl::Time> failed_disks;

  friend bool operator==(const MachinePast&, const MachinePast&) = default;
};

// "mlx5_0:1"
std::string PortName(const InfinibandReading& port);

// Ports and disks that are not there any more are forgotten.
void Observe(const std::vector<InfinibandReading>& ports, const std::vector<DiskReading>& disks,
             absl::Time now, MachinePast& past);

// Return the faults after Observe(), the gravest first; none if the part is well. A disk may fail
// for some seconds while it is detached.
std::vector<HealthFault> FaultsOf(const InfinibandReading& port, const MachinePast& past,
                                  absl::Time now);
std::vector<HealthFault> FaultsOf(const DiskReading& disk, const MachinePast& past, absl::Time now);

std::string FormatMachinePast(const MachinePast& past);
absl::StatusOr<MachinePast> ParseMachinePast(std::string_view text);

}  // namespace muster::agent

#endif  // MUSTER_AGENT_NODE_MACHINE_PAST_H_
