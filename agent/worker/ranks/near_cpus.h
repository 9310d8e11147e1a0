#ifndef MUSTER_AGENT_WORKER_RANKS_NEAR_CPUS_H_
#define MUSTER_AGENT_WORKER_RANKS_NEAR_CPUS_H_

#include <optional>
#include <string>
#include <vector>

#include "agent/hardware/reading.h"

namespace muster::agent {

// Returns the CPUs on which a rank with a device of this NUMA node is to run: those of the node
// among `allowed`, the ones that the worker may use. Empty, for "anywhere", if nothing is known, if
// none of the node's is allowed, or if no other is. Pure.
std::vector<int> NearCpus(std::optional<int> numa_node, const std::vector<NumaReading>& nodes,
                          const std::vector<int>& allowed);

// Reads a list as the kernel writes it, "0-3,8", in ascending order; empty if it is no such list.
std::vector<int> ParseCpuList(const std::string& text);

// Returns the CPUs on which this process may run.
std::vector<int> AllowedCpus();

}  // namespace muster::agent

#endif  // MUSTER_AGENT_WORKER_RANKS_NEAR_CPUS_H_
