#ifndef MUSTER_OPERATOR_QUEUE_EMPTY_CLUSTER_H_
#define MUSTER_OPERATOR_QUEUE_EMPTY_CLUSTER_H_

#include <string>

#include "absl/container/flat_hash_map.h"
#include "operator/placement/gang_nodes.h"
#include "operator/placement/inventory.h"
#include "operator/placement/placement.h"
#include "operator/placement/topology_tree.h"

namespace muster::control {

// Nodes as if nothing ran on them and all of them could be used: what has no place there does not
// get one by waiting for jobs to end (QueuedJob::fits_nowhere). Not thread-safe.
class EmptyCluster {
 public:
  explicit EmptyCluster(Inventory nodes);

  const TopologyTree& tree() const { return tree_; }

  // Whether the gang's smallest size has a place on these of the tree's nodes; null: on all. What
  // Place takes for an invalid request counts as placed, so that its own reason is told. Answers
  // are remembered by the gang's shape and `pods`, which stands for the nodes: those with an equal
  // one get the same.
  bool HasPlaceFor(const GangRequest& request, const std::string& pods = "",
                   const GangNodes* nodes = nullptr);
  // Whether HasPlaceFor has the answer already.
  bool Knows(const GangRequest& request, const std::string& pods) const;

 private:
  TopologyTree tree_;
  absl::flat_hash_map<std::string, bool> answers_;
};

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_QUEUE_EMPTY_CLUSTER_H_
