#include "operator/placement/filter/spot_policy.h"

#include "operator/placement/cluster/spot_labels.h"

namespace muster::control {

std::optional<NodeRefusal> CheckSpot(const SchedulingPod& pod, const SchedulingNode& node) {
  if (!AvoidsSpot(pod.labels) || !IsSpotNode(node.labels)) return std::nullopt;
  return NodeRefusal{FilterReason::kSpotNode, ""};
}

}  // namespace muster::control
