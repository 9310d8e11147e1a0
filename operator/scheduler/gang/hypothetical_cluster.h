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

// A hypothetical cluster: the model's with some pods removed and others added. The free amounts in
// the model's tree are changed for as long as this lives; the rest is a copy. Nothing else may
// change the model meanwhile. Not thread-safe.
class HypotheticalCluster {
 public:
  explicit HypotheticalCluster(ClusterModel& model);
  ~HypotheticalCluster();
  HypotheticalCluster(const HypotheticalCluster&) = delete;
  HypotheticalCluster& operator=(const HypotheticalCluster&) = delete;

  // Has no effect for a pod that counts nowhere, or was removed before.
  void Remove(const kube::ObjectKey& pod);
  // Adds a pod to a node that is already charged for it in the tree.
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
