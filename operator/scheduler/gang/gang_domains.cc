#include "operator/scheduler/gang/gang_domains.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <string_view>
#include <tuple>
#include <utility>

#include "operator/placement/filter/node_filter.h"
#include "operator/placement/gang_capacity.h"
#include "operator/placement/gang_nodes.h"

namespace muster::control {
namespace {

// A domain of the required level, and a value of each label.
using Key = std::pair<int, std::vector<std::string_view>>;

std::optional<Key> KeyOf(const PlacementWorld& world, int node, int level,
                         const std::vector<std::string>& labels) {
  Key key{world.tree.AncestorOf(node, level), {}};
  if (level > 0 && world.tree.level(level)[key.first].name.empty()) return std::nullopt;
  const LabelMap& has = world.states[static_cast<size_t>(node)]->node->labels;
  for (const std::string& label : labels) {
    const auto value = has.find(label);
    if (value == has.end()) return std::nullopt;
    key.second.push_back(value->second);
  }
  return key;
}

SchedulingPod WithoutSpread(const SchedulingPod& pod) {
  SchedulingPod free = pod;
  PodConstraints wants = pod.wants();
  wants.spread.clear();
  free.constraints = std::make_shared<const PodConstraints>(std::move(wants));
  return free;
}

}  // namespace

GangDomains DomainsFor(const PlacementWorld& world, const PartialGang& gang,
                       const SchedulingPod& pod, const FilteredNodes& filtered) {
  const TopologyTree& tree = world.tree;
  const Resources& each = gang.request.per_worker;
  // A spread allows more on a node once others are elsewhere, so its answer now is no upper bound.
  const FilteredNodes most_of_each =
      pod.wants().spread.empty() ? filtered : world.NodesFor(WithoutSpread(pod));
  const GatedTree gated(world.tree, most_of_each.nodes.get(), each);
  const int level =
      gang.placed.empty() ? tree.FindLevel(gang.request.required_level).value_or(0) : 0;
  GangDomains all{NodeFilter(pod, world.snapshot, PlacedByMuster()).together_by(), {}};
  std::map<Key, GangDomain> domains;
  for (int node = 0; node < static_cast<int>(world.states.size()); ++node) {
    if (!tree.node(node).schedulable) continue;
    const int64_t room = WorkersThatFit(tree.node(node).free, each);
    const std::optional<Key> key = room > 0 ? KeyOf(world, node, level, all.labels) : std::nullopt;
    if (!key) continue;
    GangDomain& domain = domains[*key];
    domain.nodes.push_back(node);
    domain.room += room;
  }
  for (auto& [key, domain] : domains) all.domains.push_back(std::move(domain));
  const auto most = static_cast<int64_t>(gang.missing.size());
  std::sort(all.domains.begin(), all.domains.end(), [most](const auto& a, const auto& b) {
    return std::tuple(-std::min(a.room, most), a.room, a.nodes.front()) <
           std::tuple(-std::min(b.room, most), b.room, b.nodes.front());
  });
  return all;
}

}  // namespace muster::control
