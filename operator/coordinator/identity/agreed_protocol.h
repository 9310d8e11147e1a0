#ifndef MUSTER_OPERATOR_COORDINATOR_IDENTITY_AGREED_PROTOCOL_H_
#define MUSTER_OPERATOR_COORDINATOR_IDENTITY_AGREED_PROTOCOL_H_

#include "absl/status/statusor.h"
#include "proto/muster/v1alpha1/agent_messages.pb.h"
#include "proto/muster/v1alpha1/node_report.pb.h"

namespace muster::control {

// Returns the protocol of a stream that begins with `hello`, of a worker's agent or of a node's. A
// refusal (kUnimplemented) if agent and operator have none in common. Pure.
absl::StatusOr<int> AgreedProtocol(const v1alpha1::AgentHello& hello);
absl::StatusOr<int> AgreedProtocol(const v1alpha1::NodeHello& hello);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_COORDINATOR_IDENTITY_AGREED_PROTOCOL_H_
