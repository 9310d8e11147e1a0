#ifndef MUSTER_OPERATOR_PLACEMENT_FILTER_TEMPLATE_POLICY_H_
#define MUSTER_OPERATOR_PLACEMENT_FILTER_TEMPLATE_POLICY_H_

#include <optional>
#include <string>

#include "operator/placement/cluster/scheduling_pod.h"
#include "operator/placement/filter/refusal.h"

namespace muster::control {

// Refuses a template on every node: one that names another scheduler, or needs something that
// muster does not place yet. `scheduler_name` empty: any.
std::optional<NodeRefusal> CheckTemplate(const SchedulingPod& pod,
                                         const std::string& scheduler_name);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_PLACEMENT_FILTER_TEMPLATE_POLICY_H_
