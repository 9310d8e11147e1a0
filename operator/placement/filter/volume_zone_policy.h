#ifndef MUSTER_OPERATOR_PLACEMENT_FILTER_VOLUME_ZONE_POLICY_H_
#define MUSTER_OPERATOR_PLACEMENT_FILTER_VOLUME_ZONE_POLICY_H_

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "operator/placement/cluster/cluster_snapshot.h"
#include "operator/placement/cluster/scheduling_pod.h"
#include "operator/placement/cluster/storage.h"
#include "operator/placement/filter/refusal.h"

namespace muster::control {

// Checks zone and region labels of bound volumes against the node's.
class VolumeZonePolicy {
 public:
  VolumeZonePolicy(const SchedulingPod& pod, const ClusterSnapshot& snapshot);

  std::optional<NodeRefusal> Check(const NodeState& node) const;
  // See NodeFilter::node_local.
  bool node_local() const { return of_node_alone_; }

 private:
  struct Zones {
    std::string key;
    std::set<std::string, std::less<>> values;
  };
  void Add(const Volume& volume);
  std::optional<NodeRefusal> CheckUnbound(const VolumeClaim& claim,
                                          const ClusterSnapshot& snapshot) const;

  bool of_node_alone_;
  std::optional<NodeRefusal> refusal_;  // of every node
  std::vector<Zones> zones_;
};

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_PLACEMENT_FILTER_VOLUME_ZONE_POLICY_H_
