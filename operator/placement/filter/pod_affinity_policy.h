#ifndef MUSTER_OPERATOR_PLACEMENT_FILTER_POD_AFFINITY_POLICY_H_
#define MUSTER_OPERATOR_PLACEMENT_FILTER_POD_AFFINITY_POLICY_H_

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "operator/placement/cluster/cluster_snapshot.h"
#include "operator/placement/cluster/scheduling_node.h"
#include "operator/placement/cluster/scheduling_pod.h"
#include "operator/placement/filter/refusal.h"

namespace muster::control {

// Checks required affinity and anti-affinity of the pod, and other pods' anti-affinity to it.
class PodAffinityPolicy {
 public:
  PodAffinityPolicy(const SchedulingPod& pod, const ClusterSnapshot& snapshot);

  // Moves on to `next`, which has the same terms; the snapshot now has the previous pod on `node`.
  void GoOn(const SchedulingPod& next, const NodeState& node, const ClusterSnapshot& snapshot);

  std::optional<NodeRefusal> Check(const NodeState& node) const;
  // No term applies: kube-scheduler then skips this rule, and with it the terms of nominated pods.
  bool skipped() const { return skipped_; }
  // See NodeFilter::node_local: if true, no node is asked about, whatever is nominated there.
  bool node_local() const { return skipped_; }
  // Returns true if two pods like this one cannot run on the node.
  bool excludes_itself(const NodeState& node) const;
  // See NodeFilter::together_by.
  std::vector<std::string> together_by() const;

 private:
  using Domains = std::map<std::string, std::set<std::string, std::less<>>>;  // by topology key

  void FindKeptFrom(const ClusterSnapshot& snapshot);
  void Count(const SchedulingPod& other, const SchedulingNode& node);
  bool SatisfiesAffinity(const SchedulingNode& node) const;

  const SchedulingPod* pod_;
  // The pod's own terms, with the namespaces that their selectors select now.
  std::vector<PodAffinityTerm> affinity_;
  std::vector<PodAffinityTerm> anti_affinity_;
  Domains near_;       // a pod that matches all affinity terms is there
  Domains far_;        // a pod that matches an anti-affinity term
  Domains kept_from_;  // a pod whose anti-affinity matches this one
  bool skipped_ = false;
};

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_PLACEMENT_FILTER_POD_AFFINITY_POLICY_H_
