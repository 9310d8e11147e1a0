#ifndef MUSTER_OPERATOR_PLACEMENT_FILTER_TAINT_POLICY_H_
#define MUSTER_OPERATOR_PLACEMENT_FILTER_TAINT_POLICY_H_

#include <optional>

#include "operator/placement/cluster/scheduling_node.h"
#include "operator/placement/cluster/scheduling_pod.h"
#include "operator/placement/filter/refusal.h"

namespace muster::control {

// Whether the pod bears a taint; `comparison`: tolerations may compare numbers (Gt, Lt).
bool Tolerates(const SchedulingPod& pod, const NodeTaint& taint, bool comparison);

// A cordoned node: only for pods that tolerate node.kubernetes.io/unschedulable.
std::optional<NodeRefusal> CheckUnschedulable(const SchedulingPod& pod, const SchedulingNode& node,
                                              bool comparison);

// The first taint with the effect NoSchedule or NoExecute that the pod does not tolerate.
std::optional<NodeRefusal> CheckTaints(const SchedulingPod& pod, const SchedulingNode& node,
                                       bool comparison);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_PLACEMENT_FILTER_TAINT_POLICY_H_
