#ifndef MUSTER_OPERATOR_PLACEMENT_FILTER_ATTACH_LIMIT_POLICY_H_
#define MUSTER_OPERATOR_PLACEMENT_FILTER_ATTACH_LIMIT_POLICY_H_

#include <map>
#include <optional>
#include <string>
#include <utility>

#include "operator/placement/cluster/cluster_snapshot.h"
#include "operator/placement/cluster/scheduling_pod.h"
#include "operator/placement/cluster/storage.h"
#include "operator/placement/filter/refusal.h"

namespace muster::control {

// Limits the volumes of a CSI driver on a node (CSINode): those of its pods and those still
// attached, each once, with the pod's own. Volumes of drivers built into Kubernetes are not
// counted.
class AttachLimitPolicy {
 public:
  AttachLimitPolicy(const SchedulingPod& pod, const ClusterSnapshot& snapshot);

  std::optional<NodeRefusal> Check(const NodeState& node) const;
  // See NodeFilter::node_local.
  bool node_local() const;

 private:
  using Volumes = std::map<std::string, std::string>;  // unique name -> driver

  bool attaches() const;
  // False: a claim that should be made from a pod's template is not that pod's.
  bool Collect(const SchedulingPod& pod, bool has_csi_node, Volumes& volumes) const;
  std::optional<std::pair<std::string, std::string>> DriverOf(const VolumeClaim& claim,
                                                              bool has_csi_node) const;

  const SchedulingPod& pod_;
  const ClusterSnapshot& snapshot_;
  std::optional<NodeRefusal> refusal_;          // for every node
  std::map<std::string, Volumes> attachments_;  // by node
};

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_PLACEMENT_FILTER_ATTACH_LIMIT_POLICY_H_
