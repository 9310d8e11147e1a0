#include "operator/placement/filter/node_health_policy.h"

namespace muster::control {

std::optional<NodeRefusal> CheckNodeHealth(const SchedulingNode& node) {
  if (node.complaint) return NodeRefusal{FilterReason::kNodeFaulty, node.complaint->sentence};
  if (!node.ready) return NodeRefusal{FilterReason::kNodeNotReady, ""};
  return std::nullopt;
}

}  // namespace muster::control
