#ifndef MUSTER_OPERATOR_PLACEMENT_FILTER_NODE_VERDICTS_H_
#define MUSTER_OPERATOR_PLACEMENT_FILTER_NODE_VERDICTS_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "operator/placement/cluster/cluster_snapshot.h"
#include "operator/placement/cluster/scheduling_pod.h"
#include "operator/placement/filter/refusal.h"
#include "operator/placement/gang_nodes.h"
#include "operator/placement/topology_tree.h"

namespace muster::control {

using NodePointer = std::shared_ptr<const NodeState>;

// A filter's verdict on a node.
struct NodeVerdict {
  NodePointer state;                           // the node that it is about
  std::shared_ptr<const NodeRefusal> refusal;  // null: it fits
  int64_t room = 0;                            // NodeFilter::Room
};

std::shared_ptr<const NodeRefusal> Share(std::optional<NodeRefusal> refusal);

// Turns verdicts into nodes for Place; `verdicts[i]` is about the tree's node i. Shortages that the
// tree sees itself, of CPU, memory, GPUs or slots, are left to the tree.
GangNodes GatherNodes(const SchedulingPod& pod, const std::vector<NodeVerdict>& verdicts,
                      const TopologyTree& tree);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_PLACEMENT_FILTER_NODE_VERDICTS_H_
