#ifndef MUSTER_OPERATOR_PLACEMENT_FILTER_NODE_AFFINITY_POLICY_H_
#define MUSTER_OPERATOR_PLACEMENT_FILTER_NODE_AFFINITY_POLICY_H_

#include <optional>

#include "operator/placement/cluster/scheduling_node.h"
#include "operator/placement/cluster/scheduling_pod.h"
#include "operator/placement/filter/refusal.h"

namespace muster::control {

// Checks nodeSelector and required node affinity together.
bool MatchesNodeAffinity(const SchedulingPod& pod, const SchedulingNode& node);
std::optional<NodeRefusal> CheckNodeAffinity(const SchedulingPod& pod, const SchedulingNode& node);

// Checks spec.nodeName, for a pod that has chosen its node itself.
std::optional<NodeRefusal> CheckNodeName(const SchedulingPod& pod, const SchedulingNode& node);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_PLACEMENT_FILTER_NODE_AFFINITY_POLICY_H_
