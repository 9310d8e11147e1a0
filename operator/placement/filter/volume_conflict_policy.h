#ifndef MUSTER_OPERATOR_PLACEMENT_FILTER_VOLUME_CONFLICT_POLICY_H_
#define MUSTER_OPERATOR_PLACEMENT_FILTER_VOLUME_CONFLICT_POLICY_H_

#include <optional>

#include "operator/placement/cluster/cluster_snapshot.h"
#include "operator/placement/cluster/scheduling_pod.h"
#include "operator/placement/filter/refusal.h"

namespace muster::control {

// Refuses volumes that two pods cannot have at once: a disk named in both on one node, or a claim
// with the access mode ReadWriteOncePod anywhere.
class VolumeConflictPolicy {
 public:
  VolumeConflictPolicy(const SchedulingPod& pod, const ClusterSnapshot& snapshot);

  std::optional<NodeRefusal> Check(const NodeState& node) const;
  // kube-scheduler then skips this rule, and with it the part of nominated pods.
  bool skipped() const { return skipped_; }
  // Returns true if two pods like this one cannot run on one node.
  bool excludes_itself() const;
  // See NodeFilter::node_local.
  bool node_local() const { return pod_.wants().claims.empty(); }

 private:
  const SchedulingPod& pod_;
  std::optional<NodeRefusal> refusal_;  // of every node
  bool claim_in_use_ = false;
  bool single_pod_claim_ = false;
  bool skipped_ = false;
};

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_PLACEMENT_FILTER_VOLUME_CONFLICT_POLICY_H_
