#ifndef MUSTER_AGENT_NODE_HEALTH_FAULT_H_
#define MUSTER_AGENT_NODE_HEALTH_FAULT_H_

#include <string>

namespace muster::agent {

// A reason why nothing is to run on a part of the machine.
struct HealthFault {
  std::string reason;  // one word of docs/node-agent.md, as "FatalXid"
  std::string detail;  // one sentence

  friend bool operator==(const HealthFault&, const HealthFault&) = default;
};

}  // namespace muster::agent

#endif  // MUSTER_AGENT_NODE_HEALTH_FAULT_H_
