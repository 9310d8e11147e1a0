#ifndef MUSTER_OPERATOR_PLACEMENT_FILTER_NODE_POLICIES_H_
#define MUSTER_OPERATOR_PLACEMENT_FILTER_NODE_POLICIES_H_

#include <cstdint>
#include <optional>
#include <string>

#include "operator/placement/cluster/cluster_snapshot.h"
#include "operator/placement/cluster/resource_amounts.h"
#include "operator/placement/cluster/scheduling_node.h"
#include "operator/placement/cluster/scheduling_pod.h"
#include "operator/placement/filter/refusal.h"

// The short policies that look at one node and the pods on it, and at nothing else of the cluster.
namespace muster::control {

// Refuses a template on every node: one that names another scheduler, or needs something that
// muster does not place yet. `scheduler_name` empty: any.
std::optional<NodeRefusal> CheckTemplate(const SchedulingPod& pod,
                                         const std::string& scheduler_name);

// Refuses a node that is not Ready, or whose own report is impossible. kube-scheduler has neither
// rule: it relies on the taints that the node lifecycle controller sets, a little later. A pod that
// asks for devices of RDMA is kept off a node whose InfiniBand or RoCE ports are not well.
std::optional<NodeRefusal> CheckNodeHealth(const SchedulingPod& pod, const SchedulingNode& node);

// Refuses a spot node to a pod with the label by which a job says that it allows none. How many of
// a gang may be on spot nodes is no question about one pod: Place() bounds it.
std::optional<NodeRefusal> CheckSpot(const SchedulingPod& pod, const SchedulingNode& node);

// Refuses a node where a pod has a host port of the pod: on the same address, or on all of them.
std::optional<NodeRefusal> CheckHostPorts(const SchedulingPod& pod, const NodeState& node);

// Checks requests against free amounts, and the number of pods; refuses for the first shortage.
std::optional<NodeRefusal> CheckResources(const SchedulingPod& pod, const NodeState& node);

// Returns the number of times that the requests fit into the amounts; at most `limit`.
int64_t TimesIn(const ResourceAmounts& amounts, const ResourceAmounts& requests, int64_t limit);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_PLACEMENT_FILTER_NODE_POLICIES_H_
