#ifndef MUSTER_OPERATOR_NODES_NODE_AGENT_ACCOUNT_H_
#define MUSTER_OPERATOR_NODES_NODE_AGENT_ACCOUNT_H_

#include <string>

#include "absl/status/statusor.h"

namespace muster::control {

// The service account of node agents. A pod that runs with it may report for the node it is on.
struct NodeAgentAccount {
  std::string ns;
  std::string name;

  bool empty() const { return name.empty(); }
};

// Returns "NAMESPACE/NAME" as an account; kInvalidArgument for any other text.
absl::StatusOr<NodeAgentAccount> ParseNodeAgentAccount(const std::string& text);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_NODES_NODE_AGENT_ACCOUNT_H_
