#ifndef MUSTER_OPERATOR_PLACEMENT_FILTER_TAINT_POLICY_H_
#define MUSTER_OPERATOR_PLACEMENT_FILTER_TAINT_POLICY_H_

#include <optional>

#include "operator/placement/cluster/scheduling_node.h"
#include "operator/placement/cluster/scheduling_pod.h"
#include "operator/placement/filter/refusal.h"

namespace muster::control {

// Returns true if the pod tolerates the taint; `comparison` allows the operators Gt and Lt.
bool Tolerates(const SchedulingPod& pod, const NodeTaint& taint, bool comparison);

// Refuses a cordoned node to pods that do not tolerate node.kubernetes.io/unschedulable.
std::optional<NodeRefusal> CheckUnschedulable(const SchedulingPod& pod, const SchedulingNode& node,
                                              bool comparison);

// Refuses for the first NoSchedule or NoExecute taint that the pod does not tolerate.
std::optional<NodeRefusal> CheckTaints(const SchedulingPod& pod, const SchedulingNode& node,
                                       bool comparison);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_PLACEMENT_FILTER_TAINT_POLICY_H_
