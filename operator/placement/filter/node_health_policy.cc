#include "operator/placement/filter/node_health_policy.h"

namespace muster::control {

std::optional<Refusal> CheckNodeHealth(const SchedulingNode& node) {
  if (node.complaint) return Refusal{FilterReason::kNodeFaulty, node.complaint->sentence};
  if (!node.ready) return Refusal{FilterReason::kNodeNotReady, ""};
  return std::nullopt;
}

}  // namespace muster::control
