#include "operator/placement/filter/node_health_policy.h"

namespace muster::control {

std::optional<NodeRefusal> CheckNodeHealth(const SchedulingPod& pod, const SchedulingNode& node) {
  if (node.complaint) return NodeRefusal{FilterReason::kNodeFaulty, node.complaint->sentence};
  if (!node.faults.rdma.empty() && pod.uses_rdma()) {
    return NodeRefusal{FilterReason::kNodeFaulty, node.faults.rdma};
  }
  if (!node.ready) return NodeRefusal{FilterReason::kNodeNotReady, ""};
  return std::nullopt;
}

}  // namespace muster::control
