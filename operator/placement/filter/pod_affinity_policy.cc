#include "operator/placement/filter/pod_affinity_policy.h"

#include <algorithm>

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

// The pod's own terms name the namespaces that their selectors select; kube-scheduler then asks the
// selectors once more, of a namespace without labels, so one that only excludes selects them all.
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

// Where a node stands in the term's topology; absent: nowhere.
std::optional<std::string> DomainOf(const SchedulingNode& node, const PodAffinityTerm& term) {
  const auto label = node.labels.find(term.topology_key);
  if (label == node.labels.end()) return std::nullopt;
  return std::string(label->second);
}

}  // namespace

PodAffinityPolicy::PodAffinityPolicy(const SchedulingPod& pod, const ClusterSnapshot& snapshot)
    : pod_(pod),
      affinity_(WithNamespaces(pod.wants().affinity, snapshot)),
      anti_affinity_(WithNamespaces(pod.wants().anti_affinity, snapshot)) {
  if (pod.wants().affinity_invalid) return;
  const LabelMap* own_ns = snapshot.FindNamespace(pod.ns);
  snapshot.ForEachAntiAffinePod([&](const SchedulingPod& other, const NodeState& node) {
    for (const PodAffinityTerm& term : other.wants().anti_affinity) {
      const std::optional<std::string> domain = DomainOf(*node.node, term);
      if (!domain.has_value() || !Matches(term, pod, own_ns == nullptr ? NoLabels() : *own_ns)) {
        continue;
      }
      kept_from_.emplace(term.topology_key, *domain);
    }
  });
  if (!affinity_.empty() || !anti_affinity_.empty()) CountOthers(snapshot);
  skipped_ = kept_from_.empty() && affinity_.empty() && anti_affinity_.empty();
}

void PodAffinityPolicy::CountOthers(const ClusterSnapshot& snapshot) {
  snapshot.ForEachNode([&](const NodeState& node) {
    for (const PodPointer& other : node.pods) {
      if (MatchesAll(affinity_, *other)) {
        for (const PodAffinityTerm& term : affinity_) {
          const std::optional<std::string> domain = DomainOf(*node.node, term);
          if (domain.has_value()) near_.emplace(term.topology_key, *domain);
        }
      }
      for (const PodAffinityTerm& term : anti_affinity_) {
        const std::optional<std::string> domain = DomainOf(*node.node, term);
        if (domain.has_value() && MatchesOwn(term, *other))
          far_.emplace(term.topology_key, *domain);
      }
    }
  });
}

bool PodAffinityPolicy::SatisfiesAffinity(const SchedulingNode& node) const {
  bool all = true;
  for (const PodAffinityTerm& term : affinity_) {
    const std::optional<std::string> domain = DomainOf(node, term);
    if (!domain.has_value()) return false;
    all = all && near_.count({term.topology_key, *domain}) > 0;
  }
  // The first of pods that want to be near each other has nobody to be near to.
  return all || (near_.empty() && MatchesAll(affinity_, pod_));
}

std::optional<NodeRefusal> PodAffinityPolicy::Check(const NodeState& node) const {
  if (pod_.wants().affinity_invalid) {
    return NodeRefusal{FilterReason::kPodAffinity, "a selector that cannot be"};
  }
  if (!SatisfiesAffinity(*node.node)) return NodeRefusal{FilterReason::kPodAffinity, "affinity"};
  for (const PodAffinityTerm& term : anti_affinity_) {
    const std::optional<std::string> domain = DomainOf(*node.node, term);
    if (domain.has_value() && far_.count({term.topology_key, *domain}) > 0) {
      return NodeRefusal{FilterReason::kPodAffinity, "anti-affinity by " + term.topology_key};
    }
  }
  for (const Domain& kept : kept_from_) {
    const auto label = node.node->labels.find(kept.first);
    if (label != node.node->labels.end() && label->second == kept.second) {
      return NodeRefusal{FilterReason::kPodAffinity,
                         "another pod's anti-affinity by " + kept.first};
    }
  }
  return std::nullopt;
}

bool PodAffinityPolicy::excludes_itself(const NodeState& node) const {
  return std::any_of(anti_affinity_.begin(), anti_affinity_.end(), [&](const auto& term) {
    return DomainOf(*node.node, term).has_value() && MatchesOwn(term, pod_);
  });
}

}  // namespace muster::control
