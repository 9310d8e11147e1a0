#include "operator/placement/filter/topology_spread_policy.h"

#include <algorithm>
#include <limits>

#include "operator/placement/filter/node_affinity_policy.h"
#include "operator/placement/filter/taint_policy.h"

namespace muster::control {
namespace {

bool HasEveryKey(const SchedulingPod& pod, const SchedulingNode& node) {
  const auto& spread = pod.wants().spread;
  return std::all_of(spread.begin(), spread.end(), [&](const SpreadConstraint& constraint) {
    return node.labels.count(constraint.topology_key) > 0;
  });
}

int64_t CountMatching(const NodeState& node, const SpreadConstraint& constraint,
                      const std::string& ns) {
  // As kube-scheduler has it: a selector of everything counts nothing.
  if (constraint.selector.SelectsEverything()) return 0;
  return std::count_if(node.pods.begin(), node.pods.end(), [&](const PodPointer& pod) {
    return !pod->terminating && pod->ns == ns && constraint.selector.Matches(pod->labels);
  });
}

}  // namespace

TopologySpreadPolicy::TopologySpreadPolicy(const SchedulingPod& pod,
                                           const ClusterSnapshot& snapshot, bool comparison)
    : pod_(pod), counts_(pod.wants().spread.size()) {
  if (counts_.empty() || pod.wants().spread_invalid) return;
  snapshot.ForEachNode([&](const NodeState& node) { CountNode(node, comparison); });
  for (size_t i = 0; i < counts_.size(); ++i) {
    const SpreadConstraint& constraint = pod.wants().spread[i];
    Counts& counts = counts_[i];
    counts.counts_itself = constraint.selector.Matches(pod.labels);
    if (static_cast<int64_t>(counts.by_domain.size()) < constraint.min_domains) continue;
    counts.fewest = std::numeric_limits<int32_t>::max();
    for (const auto& [domain, count] : counts.by_domain) {
      counts.fewest = std::min(counts.fewest, count);
    }
  }
}

void TopologySpreadPolicy::CountNode(const NodeState& node, bool comparison) {
  if (!HasEveryKey(pod_, *node.node)) return;
  for (size_t i = 0; i < counts_.size(); ++i) {
    const SpreadConstraint& constraint = pod_.wants().spread[i];
    if (constraint.honor_affinity && !MatchesNodeAffinity(pod_, *node.node)) continue;
    if (constraint.honor_taints && CheckTaints(pod_, *node.node, comparison)) continue;
    const std::string_view domain = node.node->labels.Value(constraint.topology_key);
    auto& by_domain = counts_[i].by_domain;
    const auto count = by_domain.find(domain);
    (count == by_domain.end() ? by_domain.emplace(domain, 0).first : count)->second +=
        CountMatching(node, constraint, pod_.ns);
  }
}

int64_t TopologySpreadPolicy::Skew(size_t constraint, std::string_view domain) const {
  const Counts& counts = counts_[constraint];
  const auto count = counts.by_domain.find(domain);
  return (count == counts.by_domain.end() ? 0 : count->second) - counts.fewest;
}

std::optional<NodeRefusal> TopologySpreadPolicy::Check(const NodeState& node) const {
  if (pod_.wants().spread_invalid) {
    return NodeRefusal{FilterReason::kTopologySpread, "a selector that cannot be"};
  }
  for (size_t i = 0; i < counts_.size(); ++i) {
    const SpreadConstraint& constraint = pod_.wants().spread[i];
    const auto label = node.node->labels.find(constraint.topology_key);
    if (label == node.node->labels.end()) {
      return NodeRefusal{FilterReason::kTopologySpread, "no label " + constraint.topology_key};
    }
    const int64_t skew = Skew(i, label->second) + (counts_[i].counts_itself ? 1 : 0);
    if (skew > constraint.max_skew) {
      return NodeRefusal{FilterReason::kTopologySpread, constraint.topology_key, skew,
                         constraint.max_skew};
    }
  }
  return std::nullopt;
}

int64_t TopologySpreadPolicy::Room(const NodeState& node, int64_t limit) const {
  int64_t room = limit;
  for (size_t i = 0; i < counts_.size(); ++i) {
    const SpreadConstraint& constraint = pod_.wants().spread[i];
    const auto label = node.node->labels.find(constraint.topology_key);
    if (label == node.node->labels.end()) return 0;
    if (!counts_[i].counts_itself || constraint.selector.SelectsEverything()) continue;
    room = std::min(room, constraint.max_skew - Skew(i, label->second));
  }
  return std::max<int64_t>(room, 0);
}

}  // namespace muster::control
