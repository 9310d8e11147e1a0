#include "operator/placement/filter/node_affinity_policy.h"

#include <string>

#include "operator/placement/cluster/label_selector.h"

namespace muster::control {
namespace {

bool SatisfiesAffinity(const SchedulingPod& pod, const SchedulingNode& node) {
  const auto& terms = pod.wants().node_affinity;
  return !terms || MatchesAnyTerm(*terms, node.labels, node.name);
}

// The first label of the selector that the node does not match; empty: none.
std::string MissingLabel(const SchedulingPod& pod, const SchedulingNode& node) {
  for (const auto& [key, value] : pod.wants().node_selector) {
    const auto label = node.labels.find(key);
    if (label != node.labels.end() && label->second == value) continue;
    return std::string(key) + "=" + std::string(value);
  }
  return "";
}

}  // namespace

bool MatchesNodeAffinity(const SchedulingPod& pod, const SchedulingNode& node) {
  return MissingLabel(pod, node).empty() && SatisfiesAffinity(pod, node);
}

std::optional<NodeRefusal> CheckNodeAffinity(const SchedulingPod& pod, const SchedulingNode& node) {
  const std::string missing = MissingLabel(pod, node);
  if (!missing.empty()) return NodeRefusal{FilterReason::kNodeAffinity, "label " + missing};
  if (SatisfiesAffinity(pod, node)) return std::nullopt;
  return NodeRefusal{FilterReason::kNodeAffinity, "node affinity"};
}

std::optional<NodeRefusal> CheckNodeName(const SchedulingPod& pod, const SchedulingNode& node) {
  if (pod.node.empty() || pod.node == node.name) return std::nullopt;
  return NodeRefusal{FilterReason::kNodeName, pod.node};
}

}  // namespace muster::control
