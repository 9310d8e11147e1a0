#ifndef MUSTER_AGENT_NODE_NODE_READINGS_H_
#define MUSTER_AGENT_NODE_NODE_READINGS_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "agent/hardware/fabric_links.h"
#include "agent/hardware/reading.h"
#include "agent/notices/notice.h"

namespace muster::agent {

// All that the node agent found on its node, at one time. A value.
struct NodeReadings {
  absl::Time at = absl::InfinitePast();  // monotonic, of all but `fabric` and `notice`
  GpuReadings gpus;
  std::vector<NumaReading> numa_nodes;
  std::vector<NetworkCardReading> network_cards;
  std::vector<InfinibandReading> infiniband_ports;
  std::vector<DiskReading> disks;
  // The switches of InfiniBand ports, and why they are not known; both are from the last look at
  // the fabric.
  FabricLinks fabric;
  std::string fabric_absence;
  std::optional<ClockReading> clock;
  // The machine's cloud has announced that it takes it away.
  std::optional<Notice> notice;
};

}  // namespace muster::agent

#endif  // MUSTER_AGENT_NODE_NODE_READINGS_H_
