#ifndef MUSTER_OPERATOR_SCHEDULER_BIND_CLAIM_WRITES_H_
#define MUSTER_OPERATOR_SCHEDULER_BIND_CLAIM_WRITES_H_

#include <string>

#include "absl/status/status.h"
#include "operator/kube/api.h"
#include "operator/kube/object_meta.h"

// What a scheduler writes about volume claims that wait for their first consumer. Each may be
// repeated; kFailedPrecondition says that it is too late for it.
namespace muster::control {

// The claim's volume is to be made for the node.
absl::Status SelectNode(kube::Api& api, const kube::ObjectKey& claim, const std::string& node);
// Not any more, unless it is bound by now.
absl::Status ForgetNode(kube::Api& api, const kube::ObjectKey& claim, const std::string& node);
// The claim gets this volume, which exists and is nobody's.
absl::Status GiveVolume(kube::Api& api, const kube::ObjectKey& claim, const std::string& volume);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_SCHEDULER_BIND_CLAIM_WRITES_H_
