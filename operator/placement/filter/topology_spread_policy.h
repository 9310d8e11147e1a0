#ifndef MUSTER_OPERATOR_PLACEMENT_FILTER_TOPOLOGY_SPREAD_POLICY_H_
#define MUSTER_OPERATOR_PLACEMENT_FILTER_TOPOLOGY_SPREAD_POLICY_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "operator/placement/cluster/cluster_snapshot.h"
#include "operator/placement/cluster/scheduling_pod.h"
#include "operator/placement/filter/refusal.h"

namespace muster::control {

// Checks topologySpreadConstraints with DoNotSchedule: the matching pods in the node's domain, with
// the new one, less those in the emptiest domain, must not exceed maxSkew. Domains are those of
// nodes that have every key and, by policy, match the pod's affinity and are tolerated.
class TopologySpreadPolicy {
 public:
  TopologySpreadPolicy(const SchedulingPod& pod, const ClusterSnapshot& snapshot, bool comparison);

  // Moves on to `next`, which has the same constraints; the previous pod is on `node` from now on.
  void GoOn(const SchedulingPod& next, const NodeState& node);

  std::optional<NodeRefusal> Check(const NodeState& node) const;
  // Returns the number of such pods that fit into the node's domains as they are; at most `limit`.
  int64_t Room(const NodeState& node, int64_t limit) const;
  // See NodeFilter::node_local.
  bool node_local() const { return counts_.empty(); }

 private:
  struct DomainCounts {
    std::map<std::string, int64_t, std::less<>> by_domain;
    int64_t fewest = 0;
    bool counts_itself = false;
  };
  void CountNode(const NodeState& node);
  bool IsCounted(const NodeState& node, const SpreadConstraint& constraint) const;
  void FindFewest();
  // Matching pods in the node's domain less those in the emptiest.
  int64_t Skew(size_t constraint, std::string_view domain) const;

  const SchedulingPod* pod_;
  const bool comparison_;
  std::vector<DomainCounts> counts_;  // one a constraint
};

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_PLACEMENT_FILTER_TOPOLOGY_SPREAD_POLICY_H_
