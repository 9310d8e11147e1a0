#ifndef MUSTER_OPERATOR_PLACEMENT_FILTER_NODE_HEALTH_POLICY_H_
#define MUSTER_OPERATOR_PLACEMENT_FILTER_NODE_HEALTH_POLICY_H_

#include <optional>

#include "operator/placement/cluster/scheduling_node.h"
#include "operator/placement/filter/refusal.h"

namespace muster::control {

// Refuses a node that is not Ready, or whose own report is impossible. kube-scheduler has neither
// rule: it relies on the taints that the node lifecycle controller sets, a little later.
std::optional<NodeRefusal> CheckNodeHealth(const SchedulingNode& node);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_PLACEMENT_FILTER_NODE_HEALTH_POLICY_H_
