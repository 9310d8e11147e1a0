#ifndef MUSTER_OPERATOR_COORDINATOR_IDENTITY_NODE_IDENTITY_H_
#define MUSTER_OPERATOR_COORDINATOR_IDENTITY_NODE_IDENTITY_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace muster::control {

// The identity in a node agent's certificate: the node that it may report about, and its pod. In
// the certificate it is the one URI among the alternative names:
//
//   spiffe://muster/node/NODE/pod/NAMESPACE/NAME/UID
//
// A value; pure.
struct NodeIdentity {
  std::string node;
  std::string ns;
  std::string pod;
  std::string pod_uid;

  bool operator==(const NodeIdentity&) const = default;
};

std::string ToUri(const NodeIdentity& identity);
// Returns true if `uri` is meant to name a node: ParseNodeUri() then says whether it does.
bool IsNodeUri(absl::string_view uri);
// Returns kInvalidArgument for any text that ToUri() would not have written.
absl::StatusOr<NodeIdentity> ParseNodeUri(absl::string_view uri);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_COORDINATOR_IDENTITY_NODE_IDENTITY_H_
