#ifndef MUSTER_OPERATOR_PLACEMENT_FILTER_VOLUME_BINDING_POLICY_H_
#define MUSTER_OPERATOR_PLACEMENT_FILTER_VOLUME_BINDING_POLICY_H_

#include <optional>
#include <utility>
#include <vector>

#include "operator/placement/cluster/cluster_snapshot.h"
#include "operator/placement/cluster/scheduling_node.h"
#include "operator/placement/cluster/scheduling_pod.h"
#include "operator/placement/cluster/storage.h"
#include "operator/placement/filter/refusal.h"

namespace muster::control {

// Checks the pod's claims: bound ones need a volume that the node can reach; those that wait for
// their first consumer need one that exists or can be made there; others must be bound before.
class VolumeBindingPolicy {
 public:
  VolumeBindingPolicy(const SchedulingPod& pod, const ClusterSnapshot& snapshot);

  std::optional<NodeRefusal> Check(const NodeState& node) const;
  // See NodeFilter::node_local.
  bool node_local() const { return !refusal_ && bound_.empty() && waiting_.empty(); }

  // The volumes that `Find` chose for the claims that wait for their first consumer.
  struct Found {
    std::vector<const VolumeClaim*> provision;
    std::vector<std::pair<const VolumeClaim*, const Volume*>> bind;
  };
  std::optional<NodeRefusal> Find(const SchedulingNode& node, Found& found) const;

 private:
  std::optional<NodeRefusal> Sort(const VolumeClaim& claim);
  std::optional<NodeRefusal> CheckBound(const SchedulingNode& node) const;
  const Volume* Match(const VolumeClaim& claim, const SchedulingNode& node,
                      const Found& found) const;
  std::optional<NodeRefusal> CheckProvision(const VolumeClaim& claim,
                                            const SchedulingNode& node) const;
  bool HasCapacity(const VolumeClaim& claim, const StorageClass& storage_class,
                   const SchedulingNode& node) const;

  const ClusterSnapshot& snapshot_;
  std::optional<NodeRefusal> refusal_;  // of every node
  std::vector<const VolumeClaim*> bound_;
  std::vector<const VolumeClaim*> waiting_;  // smallest request first
};

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_PLACEMENT_FILTER_VOLUME_BINDING_POLICY_H_
