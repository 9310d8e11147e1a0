#ifndef MUSTER_OPERATOR_QUEUE_EMPTY_CLUSTER_H_
#define MUSTER_OPERATOR_QUEUE_EMPTY_CLUSTER_H_

#include <string>

#include "absl/container/flat_hash_map.h"
#include "operator/placement/gang_nodes.h"
#include "operator/placement/inventory.h"
#include "operator/placement/placement.h"
#include "operator/placement/topology_tree.h"

namespace muster::control {

// The nodes as if nothing ran on them and all were schedulable: a gang that has no place there does
// not get one by waiting for jobs to end (QueuedJob::fits_nowhere). Not thread-safe.
class EmptyCluster {
 public:
  explicit EmptyCluster(Inventory nodes);

  const TopologyTree& tree() const { return tree_; }

  // Returns true if the gang's smallest size has a place on `nodes`; null: on all nodes of the
  // tree. A request that Place finds invalid counts as placed, so that its own reason is reported.
  // Answers are remembered by the gang's shape and `pods`, a key that stands for `nodes`: equal
  // keys get equal answers.
  bool HasPlaceFor(const GangRequest& request, const std::string& pods = "",
                   const GangNodes* nodes = nullptr);
  // Returns true if HasPlaceFor remembers the answer.
  bool Knows(const GangRequest& request, const std::string& pods) const;

 private:
  TopologyTree tree_;
  absl::flat_hash_map<std::string, bool> answers_;
};

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_QUEUE_EMPTY_CLUSTER_H_
