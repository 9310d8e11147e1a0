#ifndef MUSTER_OPERATOR_RUNTIME_GANG_REQUEST_H_
#define MUSTER_OPERATOR_RUNTIME_GANG_REQUEST_H_

#include <functional>
#include <string>

#include "operator/placement/complete_gang.h"
#include "operator/placement/gang_nodes.h"
#include "operator/placement/topology_tree.h"
#include "operator/runtime/caches.h"
#include "operator/runtime/cluster_model.h"

namespace muster::control {

// What placement is asked about a job's pods; `spec` is the job's with its defaults.
PartialGang MakeGangRequest(const TrainingJob& job, const v1alpha1::TrainingJobSpec& spec,
                            const Gang& gang);

// Two gangs of equal shape fit or do not fit alike; empty for one that has nodes already.
std::string ShapeOf(const PartialGang& gang, const PodRecord& pod);

// The nodes of a tree that a pod may go to; `node_at` gives the node of the tree's index.
using NodeAt = std::function<const NodeRecord&(int index)>;
GangNodes NodesForPod(const TopologyTree& tree, const NodeAt& node_at, const PodRecord& pod);

// The refusal with what would help, and with the nodes that were not looked at.
std::string FullSentence(const Unplaceable& no, const GangRequest& request,
                         const std::string& left_out);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_RUNTIME_GANG_REQUEST_H_
