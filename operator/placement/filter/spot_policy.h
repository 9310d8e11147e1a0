#ifndef MUSTER_OPERATOR_PLACEMENT_FILTER_SPOT_POLICY_H_
#define MUSTER_OPERATOR_PLACEMENT_FILTER_SPOT_POLICY_H_

#include <optional>

#include "operator/placement/cluster/scheduling_node.h"
#include "operator/placement/cluster/scheduling_pod.h"
#include "operator/placement/filter/refusal.h"

namespace muster::control {

// Refuses a spot node to a pod with the label by which a job says that it allows none. How many of
// a gang may be on spot nodes is no question about one pod: Place() bounds it.
std::optional<NodeRefusal> CheckSpot(const SchedulingPod& pod, const SchedulingNode& node);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_PLACEMENT_FILTER_SPOT_POLICY_H_
