#ifndef MUSTER_OPERATOR_SCHEDULER_GANG_HYPOTHETICAL_CLUSTER_H_
#define MUSTER_OPERATOR_SCHEDULER_GANG_HYPOTHETICAL_CLUSTER_H_

#include <string>
#include <utility>
#include <vector>

#include "operator/kube/object_meta.h"
#include "operator/placement/cluster/cluster_snapshot.h"
#include "operator/placement/filter/filter_memo.h"
#include "operator/placement/inventory.h"
#include "operator/scheduler/cluster/cluster_model.h"
#include "operator/scheduler/gang/gang_placer.h"

namespace muster::control {

// The cluster as it would be with some pods gone and others there. What is free in the model's tree
// is changed for as long as this lives; the rest is a copy. Nothing else may change the model
// meanwhile. Not thread-safe.
class ThoughtCluster {
 public:
  explicit ThoughtCluster(ClusterModel& model);
  ~ThoughtCluster();
  ThoughtCluster(const ThoughtCluster&) = delete;
  ThoughtCluster& operator=(const ThoughtCluster&) = delete;

  // One that counts nowhere, or has gone before, changes nothing.
  void Remove(const kube::ObjectKey& pod);
  // On a node whose tree is charged for it already.
  void Add(const PodPointer& pod, const std::string& node);

  PlacementWorld world() { return {model_, tree_, snapshot_, states_}; }

 private:
  ClusterModel& model_;
  TopologyTree& tree_;
  ClusterSnapshot snapshot_;
  std::vector<NodePointer> states_;
  std::vector<std::pair<int, Resources>> freed_;  // by node
};

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_SCHEDULER_GANG_HYPOTHETICAL_CLUSTER_H_
