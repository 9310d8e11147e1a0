#ifndef MUSTER_OPERATOR_PLACEMENT_FILTER_HOST_PORT_POLICY_H_
#define MUSTER_OPERATOR_PLACEMENT_FILTER_HOST_PORT_POLICY_H_

#include <optional>

#include "operator/placement/cluster/cluster_snapshot.h"
#include "operator/placement/cluster/scheduling_pod.h"
#include "operator/placement/filter/refusal.h"

namespace muster::control {

// Refuses a node where a pod has a host port of the pod: on the same address, or on all of them.
std::optional<NodeRefusal> CheckHostPorts(const SchedulingPod& pod, const NodeState& node);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_PLACEMENT_FILTER_HOST_PORT_POLICY_H_
