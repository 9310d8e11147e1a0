#ifndef MUSTER_OPERATOR_SCHEDULER_CLUSTER_PLACEMENT_WORLD_H_
#define MUSTER_OPERATOR_SCHEDULER_CLUSTER_PLACEMENT_WORLD_H_

#include <vector>

#include "operator/placement/cluster/cluster_snapshot.h"
#include "operator/placement/cluster/scheduling_pod.h"
#include "operator/placement/filter/filter_memo.h"
#include "operator/placement/topology_tree.h"
#include "operator/scheduler/cluster/cluster_model.h"

namespace muster::control {

// A cluster to place gangs in: the model's own, or a hypothetical one.
struct PlacementWorld {
  // The model's own cluster.
  explicit PlacementWorld(ClusterModel& of)
      : model(of), tree(of.Tree()), snapshot(of.snapshot()), states(of.states()) {}
  PlacementWorld(ClusterModel& of, TopologyTree& with, const ClusterSnapshot& all,
                 const std::vector<NodePointer>& nodes)
      : model(of), tree(with), snapshot(all), states(nodes) {}

  FilteredNodes NodesFor(const SchedulingPod& pod) const {
    return model.NodesFor(pod, snapshot, states);
  }

  ClusterModel& model;  // remembers the filters' answers
  TopologyTree& tree;
  const ClusterSnapshot& snapshot;
  const std::vector<NodePointer>& states;  // by index of the tree
};

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_SCHEDULER_CLUSTER_PLACEMENT_WORLD_H_
