#ifndef MUSTER_OPERATOR_PLACEMENT_FILTER_NODE_HEALTH_POLICY_H_
#define MUSTER_OPERATOR_PLACEMENT_FILTER_NODE_HEALTH_POLICY_H_

#include <optional>

#include "operator/placement/cluster/scheduling_node.h"
#include "operator/placement/filter/refusal.h"

namespace muster::control {

// A node that is not Ready, or that says of itself what cannot be. kube-scheduler knows neither: it
// relies on the taints that the node lifecycle controller sets, a little later.
std::optional<NodeRefusal> CheckNodeHealth(const SchedulingNode& node);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_PLACEMENT_FILTER_NODE_HEALTH_POLICY_H_
