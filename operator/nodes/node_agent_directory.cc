#include "operator/nodes/node_agent_directory.h"

#include <memory>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "operator/coordinator/identity/refusals.h"
#include "operator/kube/object_meta.h"

namespace muster::control {

absl::StatusOr<std::optional<NodeIdentity>> FindNodeOfPod(const NodeAgentAccount& account,
                                                          const PodCache& pods,
                                                          const ReviewedPod& pod) {
  if (account.empty() || pod.ns != account.ns || pod.service_account != account.name) {
    return std::nullopt;
  }
  const kube::ObjectKey key{pod.ns, pod.name};
  const std::shared_ptr<const PodRecord> record = pods.Get(key);
  const bool known = record != nullptr && record->view->uid == pod.uid;
  const std::string cached = known ? record->view->node : "";
  if (!pod.node.empty() && !cached.empty() && pod.node != cached) {
    return Refused(Refusal::kOtherNode, absl::StatusCode::kPermissionDenied,
                   absl::StrCat("the token of pod ", kube::ToString(key), " names node ", pod.node,
                                ", but the pod runs on ", cached));
  }
  const std::string& node = pod.node.empty() ? cached : pod.node;
  if (node.empty()) {
    return absl::UnavailableError(
        absl::StrCat("the node of pod ", kube::ToString(key), " is not known here yet"));
  }
  return NodeIdentity{node, pod.ns, pod.name, pod.uid};
}

}  // namespace muster::control
