#ifndef MUSTER_OPERATOR_SCHEDULER_BIND_CLAIM_WRITES_H_
#define MUSTER_OPERATOR_SCHEDULER_BIND_CLAIM_WRITES_H_

#include <string>

#include "absl/status/status.h"
#include "operator/kube/api.h"
#include "operator/kube/object_meta.h"

// Writes of a scheduler to volume claims that wait for their first consumer. Each may be repeated;
// kFailedPrecondition means that it comes too late.
namespace muster::control {

// Has the claim's volume made for the node.
absl::Status SelectNode(kube::Api& api, const kube::ObjectKey& claim, const std::string& node);
// Undoes SelectNode, unless the claim is bound by now.
absl::Status ForgetNode(kube::Api& api, const kube::ObjectKey& claim, const std::string& node);
// Gives the claim this volume, which must exist and belong to no other claim.
absl::Status GiveVolume(kube::Api& api, const kube::ObjectKey& claim, const std::string& volume);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_SCHEDULER_BIND_CLAIM_WRITES_H_
