#ifndef MUSTER_OPERATOR_NODES_NODE_AGENT_DIRECTORY_H_
#define MUSTER_OPERATOR_NODES_NODE_AGENT_DIRECTORY_H_

#include <optional>

#include "absl/status/statusor.h"
#include "operator/coordinator/identity/node_identity.h"
#include "operator/coordinator/identity/token_reviewer.h"
#include "operator/nodes/node_agent_account.h"
#include "operator/objects/caches.h"

namespace muster::control {

// Returns the node that the agent in `pod` runs on: the one in its token, or on servers whose
// tokens name none, that of the pod in the cache. nullopt if the pod's account is not that of node
// agents. kUnavailable: the pod, or its node, is not known here yet. Refusals: kOtherNode, if the
// cache knows another node than the token. Pure but for the cache's lock.
absl::StatusOr<std::optional<NodeIdentity>> FindNodeOfPod(const NodeAgentAccount& account,
                                                          const PodCache& pods,
                                                          const ReviewedPod& pod);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_NODES_NODE_AGENT_DIRECTORY_H_
