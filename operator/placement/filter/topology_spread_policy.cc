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

// A selector of everything counts no pods, as in kube-scheduler.
bool Counts(const SpreadConstraint& constraint, const SchedulingPod& pod, const std::string& ns) {
  return !constraint.selector.SelectsEverything() && !pod.terminating && pod.ns == ns &&
         constraint.selector.Matches(pod.labels);
}

}  // namespace

TopologySpreadPolicy::TopologySpreadPolicy(const SchedulingPod& pod,
                                           const ClusterSnapshot& snapshot, bool comparison)
    : pod_(&pod), comparison_(comparison), counts_(pod.wants().spread.size()) {
  if (counts_.empty() || pod.wants().spread_invalid) return;
  snapshot.ForEachNode([&](const NodeState& node) { CountNode(node); });
  FindFewest();
}

// Finds the smallest count of each constraint.
void TopologySpreadPolicy::FindFewest() {
  for (size_t i = 0; i < counts_.size(); ++i) {
    const SpreadConstraint& constraint = pod_->wants().spread[i];
    DomainCounts& counts = counts_[i];
    counts.counts_itself = constraint.selector.Matches(pod_->labels);
    if (static_cast<int64_t>(counts.by_domain.size()) < constraint.min_domains) continue;
    counts.fewest = std::numeric_limits<int32_t>::max();
    for (const auto& [domain, count] : counts.by_domain) {
      counts.fewest = std::min(counts.fewest, count);
    }
  }
}

bool TopologySpreadPolicy::IsCounted(const NodeState& node,
                                     const SpreadConstraint& constraint) const {
  return (!constraint.honor_affinity || MatchesNodeAffinity(*pod_, *node.node)) &&
         (!constraint.honor_taints || !CheckTaints(*pod_, *node.node, comparison_));
}

void TopologySpreadPolicy::CountNode(const NodeState& node) {
  if (!HasEveryKey(*pod_, *node.node)) return;
  for (size_t i = 0; i < counts_.size(); ++i) {
    const SpreadConstraint& constraint = pod_->wants().spread[i];
    if (!IsCounted(node, constraint)) continue;
    const std::string_view domain = node.node->labels.Value(constraint.topology_key);
    auto& by_domain = counts_[i].by_domain;
    const auto count = by_domain.find(domain);
    (count == by_domain.end() ? by_domain.emplace(domain, 0).first : count)->second +=
        std::count_if(node.pods.begin(), node.pods.end(),
                      [&](const PodPointer& pod) { return Counts(constraint, *pod, pod_->ns); });
  }
}

void TopologySpreadPolicy::GoOn(const SchedulingPod& next, const NodeState& node) {
  if (counts_.empty() || next.wants().spread_invalid) return;
  const bool has_keys = HasEveryKey(*pod_, *node.node);
  for (size_t i = 0; i < counts_.size() && has_keys; ++i) {
    const SpreadConstraint& constraint = pod_->wants().spread[i];
    if (!IsCounted(node, constraint) || !Counts(constraint, *pod_, pod_->ns)) continue;
    ++counts_[i].by_domain.find(node.node->labels.Value(constraint.topology_key))->second;
  }
  pod_ = &next;
  FindFewest();
}

int64_t TopologySpreadPolicy::Skew(size_t constraint, std::string_view domain) const {
  const DomainCounts& counts = counts_[constraint];
  const auto count = counts.by_domain.find(domain);
  return (count == counts.by_domain.end() ? 0 : count->second) - counts.fewest;
}

std::optional<NodeRefusal> TopologySpreadPolicy::Check(const NodeState& node) const {
  if (pod_->wants().spread_invalid) {
    return NodeRefusal{FilterReason::kTopologySpread, "an invalid selector"};
  }
  for (size_t i = 0; i < counts_.size(); ++i) {
    const SpreadConstraint& constraint = pod_->wants().spread[i];
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
    const SpreadConstraint& constraint = pod_->wants().spread[i];
    const auto label = node.node->labels.find(constraint.topology_key);
    if (label == node.node->labels.end()) return 0;
    if (!counts_[i].counts_itself || constraint.selector.SelectsEverything()) continue;
    room = std::min(room, constraint.max_skew - Skew(i, label->second));
  }
  return std::max<int64_t>(room, 0);
}

}  // namespace muster::control
