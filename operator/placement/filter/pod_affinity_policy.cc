#include "operator/placement/filter/pod_affinity_policy.h"

#include <algorithm>
#include <string_view>

namespace muster::control {
namespace {

const LabelMap& NoLabels() {
  static const LabelMap& none = *new LabelMap;
  return none;
}

bool HasNamespace(const PodAffinityTerm& term, const std::string& ns) {
  return std::find(term.namespaces.begin(), term.namespaces.end(), ns) != term.namespaces.end();
}

bool Matches(const PodAffinityTerm& term, const SchedulingPod& pod, const LabelMap& ns_labels) {
  return (HasNamespace(term, pod.ns) || term.namespace_selector.Matches(ns_labels)) &&
         term.selector.Matches(pod.labels);
}

// The pod's own terms list the namespaces that their selectors select. kube-scheduler then applies
// the selectors once more, to a namespace without labels, so a purely excluding one selects all.
bool MatchesOwn(const PodAffinityTerm& term, const SchedulingPod& pod) {
  return Matches(term, pod, NoLabels());
}

bool MatchesAll(const std::vector<PodAffinityTerm>& terms, const SchedulingPod& pod) {
  return !terms.empty() && std::all_of(terms.begin(), terms.end(),
                                       [&](const auto& term) { return MatchesOwn(term, pod); });
}

std::vector<PodAffinityTerm> WithNamespaces(std::vector<PodAffinityTerm> terms,
                                            const ClusterSnapshot& snapshot) {
  for (PodAffinityTerm& term : terms) {
    if (term.namespace_selector.absent || term.namespace_selector.SelectsEverything()) continue;
    snapshot.ForEachNamespace([&](const std::string& name, const LabelMap& labels) {
      if (term.namespace_selector.Matches(labels)) term.namespaces.push_back(name);
    });
  }
  return terms;
}

// The node's domain in the term's topology; absent: none.
std::optional<std::string_view> DomainOf(const SchedulingNode& node, const PodAffinityTerm& term) {
  const auto label = node.labels.find(term.topology_key);
  if (label == node.labels.end()) return std::nullopt;
  return label->second;
}

}  // namespace

PodAffinityPolicy::PodAffinityPolicy(const SchedulingPod& pod, const ClusterSnapshot& snapshot)
    : pod_(&pod),
      affinity_(WithNamespaces(pod.wants().affinity, snapshot)),
      anti_affinity_(WithNamespaces(pod.wants().anti_affinity, snapshot)) {
  if (pod.wants().affinity_invalid) return;
  FindKeptFrom(snapshot);
  if (affinity_.empty() && anti_affinity_.empty()) return;
  snapshot.ForEachNode([&](const NodeState& node) {
    for (const PodPointer& other : node.pods) Count(*other, *node.node);
  });
}

void PodAffinityPolicy::FindKeptFrom(const ClusterSnapshot& snapshot) {
  kept_from_.clear();
  const LabelMap* known = snapshot.FindNamespace(pod_->ns);
  const LabelMap& own_ns = known == nullptr ? NoLabels() : *known;
  snapshot.ForEachAntiAffinePod([&](const SchedulingPod& other, const NodeState& node) {
    for (const PodAffinityTerm& term : other.wants().anti_affinity) {
      const auto domain = DomainOf(*node.node, term);
      if (!domain || !Matches(term, *pod_, own_ns)) continue;
      kept_from_[term.topology_key].emplace(*domain);
    }
  });
  skipped_ = kept_from_.empty() && affinity_.empty() && anti_affinity_.empty();
}

void PodAffinityPolicy::Count(const SchedulingPod& other, const SchedulingNode& node) {
  if (MatchesAll(affinity_, other)) {
    for (const PodAffinityTerm& term : affinity_) {
      if (const auto domain = DomainOf(node, term)) near_[term.topology_key].emplace(*domain);
    }
  }
  for (const PodAffinityTerm& term : anti_affinity_) {
    const auto domain = DomainOf(node, term);
    if (domain && MatchesOwn(term, other)) far_[term.topology_key].emplace(*domain);
  }
}

void PodAffinityPolicy::GoOn(const SchedulingPod& next, const NodeState& node,
                             const ClusterSnapshot& snapshot) {
  if (next.wants().affinity_invalid) return;
  Count(*pod_, *node.node);
  pod_ = &next;
  FindKeptFrom(snapshot);
}

bool PodAffinityPolicy::SatisfiesAffinity(const SchedulingNode& node) const {
  bool all = true;
  for (const PodAffinityTerm& term : affinity_) {
    const auto domain = DomainOf(node, term);
    if (!domain) return false;
    const auto near = near_.find(term.topology_key);
    all = all && near != near_.end() && near->second.contains(*domain);
  }
  // The first pod of a group that wants to be together has no pod to be near to.
  return all || (near_.empty() && MatchesAll(affinity_, *pod_));
}

std::optional<NodeRefusal> PodAffinityPolicy::Check(const NodeState& node) const {
  if (pod_->wants().affinity_invalid) {
    return NodeRefusal{FilterReason::kPodAffinity, "an invalid selector"};
  }
  if (!SatisfiesAffinity(*node.node)) return NodeRefusal{FilterReason::kPodAffinity, "affinity"};
  for (const PodAffinityTerm& term : anti_affinity_) {
    const auto domain = DomainOf(*node.node, term);
    const auto far = far_.find(term.topology_key);
    if (domain && far != far_.end() && far->second.contains(*domain)) {
      return NodeRefusal{FilterReason::kPodAffinity, "anti-affinity by " + term.topology_key};
    }
  }
  for (const auto& [key, domains] : kept_from_) {
    const auto label = node.node->labels.find(key);
    if (label != node.node->labels.end() && domains.contains(label->second)) {
      return NodeRefusal{FilterReason::kPodAffinity, "another pod's anti-affinity by " + key};
    }
  }
  return std::nullopt;
}

bool PodAffinityPolicy::excludes_itself(const NodeState& node) const {
  return std::any_of(anti_affinity_.begin(), anti_affinity_.end(), [&](const auto& term) {
    return DomainOf(*node.node, term).has_value() && MatchesOwn(term, *pod_);
  });
}

std::vector<std::string> PodAffinityPolicy::together_by() const {
  std::vector<std::string> labels;
  if (!near_.empty() || !MatchesAll(affinity_, *pod_)) return labels;
  for (const PodAffinityTerm& term : affinity_) labels.push_back(term.topology_key);
  return labels;
}

}  // namespace muster::control
