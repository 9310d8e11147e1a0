#ifndef MUSTER_OPERATOR_PLACEMENT_FILTER_GANG_FILTER_H_
#define MUSTER_OPERATOR_PLACEMENT_FILTER_GANG_FILTER_H_

#include <optional>
#include <string>
#include <vector>

#include "operator/placement/cluster/cluster_snapshot.h"
#include "operator/placement/cluster/scheduling_pod.h"
#include "operator/placement/filter/node_filter.h"
#include "operator/placement/filter/node_verdicts.h"
#include "operator/placement/gang_nodes.h"
#include "operator/placement/topology_tree.h"

namespace muster::control {

// Filters nodes for one pod of a gang after the other, given the places of those before it. Keeps
// from pod to pod what holds for a node by itself and what is counted over all nodes, so that the
// next pod costs a look at each node and not a filter of its own. Not thread-safe.
class GangFilter {
 public:
  // `states` are the nodes of the snapshot by index of the tree.
  GangFilter(ClusterSnapshot snapshot, std::vector<NodePointer> states, FilterOptions options);

  // See FilterMemo::NodesFor.
  GangNodes NodesFor(const PodPointer& pod, const TopologyTree& tree);
  // Puts the pod on the node, and takes its volumes there.
  void Place(const PodPointer& pod, int node);

 private:
  void TurnTo(const PodPointer& pod);
  void UpdateVerdict(NodeVerdict& alone, NodeVerdict& verdict, const NodePointer& state);

  ClusterSnapshot snapshot_;
  std::vector<NodePointer> states_;
  const FilterOptions options_;
  std::optional<NodeFilter> filter_;
  PodPointer pod_;           // the pod that filter_ is for
  std::optional<int> went_;  // the node pod_ was placed on since
  std::vector<NodeVerdict> alone_;
  std::vector<NodeVerdict> verdicts_;
};

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_PLACEMENT_FILTER_GANG_FILTER_H_
