#ifndef MUSTER_OPERATOR_PLACEMENT_FILTER_RESOURCE_POLICY_H_
#define MUSTER_OPERATOR_PLACEMENT_FILTER_RESOURCE_POLICY_H_

#include <cstdint>
#include <optional>

#include "operator/placement/cluster/cluster_snapshot.h"
#include "operator/placement/cluster/resource_amounts.h"
#include "operator/placement/cluster/scheduling_pod.h"
#include "operator/placement/filter/refusal.h"

namespace muster::control {

// Checks requests against free amounts, and the number of pods; refuses for the first shortage.
std::optional<NodeRefusal> CheckResources(const SchedulingPod& pod, const NodeState& node);

// Returns the number of times that the requests fit into the amounts; at most `limit`.
int64_t TimesIn(const ResourceAmounts& amounts, const ResourceAmounts& requests, int64_t limit);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_PLACEMENT_FILTER_RESOURCE_POLICY_H_
