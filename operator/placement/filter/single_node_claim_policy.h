#ifndef MUSTER_OPERATOR_PLACEMENT_FILTER_SINGLE_NODE_CLAIM_POLICY_H_
#define MUSTER_OPERATOR_PLACEMENT_FILTER_SINGLE_NODE_CLAIM_POLICY_H_

#include <optional>
#include <string>
#include <vector>

#include "operator/placement/cluster/cluster_snapshot.h"
#include "operator/placement/cluster/scheduling_pod.h"
#include "operator/placement/filter/refusal.h"

namespace muster::control {

// Keeps the users of a claim on one node. A claim that is ReadWriteOnce and nothing else, of a
// driver that attaches volumes to nodes, can be mounted on one node at a time, so the pod goes
// where its other users are. kube-scheduler has no such rule: its pods wait for a volume that is
// attached elsewhere. Drivers that attach nothing (NFS and the like) mount such claims anywhere.
class SingleNodeClaimPolicy {
 public:
  SingleNodeClaimPolicy(const SchedulingPod& pod, const ClusterSnapshot& snapshot);

  std::optional<NodeRefusal> Check(const NodeState& node) const;
  // See NodeFilter::node_local.
  bool node_local() const { return pod_.wants().claims.empty(); }

 private:
  struct Shared {
    std::string claim;
    std::string driver;
    int users = 0;  // on any node
  };

  const SchedulingPod& pod_;
  const ClusterSnapshot& snapshot_;
  std::vector<Shared> in_use_;
};

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_PLACEMENT_FILTER_SINGLE_NODE_CLAIM_POLICY_H_
