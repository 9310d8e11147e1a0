#ifndef MUSTER_AGENT_NODE_NODE_MEMORY_H_
#define MUSTER_AGENT_NODE_NODE_MEMORY_H_

#include "agent/node/gpu_health.h"
#include "agent/node/machine_past.h"

namespace muster::agent {

// All that the node agent remembers since its machine started. A value.
struct NodeMemory {
  XidCounts xids;
  MachinePast machine;
};

}  // namespace muster::agent

#endif  // MUSTER_AGENT_NODE_NODE_MEMORY_H_
