#ifndef MUSTER_AGENT_WORKER_RANKS_NCCL_HINTS_H_
#define MUSTER_AGENT_WORKER_RANKS_NCCL_HINTS_H_

#include <string>
#include <vector>

#include "agent/hardware/network_interfaces.h"
#include "agent/hardware/reading.h"
#include "base/environment.h"

namespace muster::agent {

// Tells NCCL, and PyTorch's Gloo, by `env`, what they cannot see for themselves in a rank of a
// round of `workers`, on a machine with these adapters and addresses, which the others reach by
// `host`. Pure.
//
// Of several interfaces both take the first by the order of names, which may lead nowhere:
// NCCL_SOCKET_IFNAME and GLOO_SOCKET_IFNAME then name the one that has the address `host`.
//
// NCCL uses every active adapter that it finds, of InfiniBand and RoCE alike. Nodes with an
// InfiniBand fabric often have an Ethernet adapter for management too, over which a ring would
// crawl or never form: NCCL_IB_HCA then names the ports of the fabric, in the form
// "=mlx5_0:1,mlx5_1:1" (NCCL's user guide, environment variables). A value of the job's own or of
// the administrator's stays, and so does everything of a round within one node.
void AddNcclHints(const std::vector<InfinibandReading>& ports,
                  const std::vector<InterfaceAddress>& addresses, const std::string& host,
                  int workers, Environment& env);

}  // namespace muster::agent

#endif  // MUSTER_AGENT_WORKER_RANKS_NCCL_HINTS_H_
