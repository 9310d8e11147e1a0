#ifndef MUSTER_OPERATOR_PLACEMENT_FILTER_NODE_HEALTH_POLICY_H_
#define MUSTER_OPERATOR_PLACEMENT_FILTER_NODE_HEALTH_POLICY_H_

#include <optional>

#include "operator/placement/cluster/scheduling_node.h"
#include "operator/placement/cluster/scheduling_pod.h"
#include "operator/placement/filter/refusal.h"

namespace muster::control {

// Refuses a node that is not Ready, or whose own report is impossible. kube-scheduler has neither
// rule: it relies on the taints that the node lifecycle controller sets, a little later. A pod that
// asks for devices of RDMA is kept off a node whose InfiniBand or RoCE ports are not well.
std::optional<NodeRefusal> CheckNodeHealth(const SchedulingPod& pod, const SchedulingNode& node);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_PLACEMENT_FILTER_NODE_HEALTH_POLICY_H_
