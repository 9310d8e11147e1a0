#include "operator/placement/gang_choice.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "operator/placement/spot_split.h"

namespace muster::control {
namespace {

using Which = NodeKind::Which;

bool IsDomain(const TopologyTree& tree, int level, int index) {
  return level == 0 || !tree.level(level)[index].name.empty();
}

// Returns true if the domain lies within a domain of the required level, or is one.
bool MeetsRequirement(const TopologyTree& tree, const GangPlan& plan, int level, int index) {
  for (; level > plan.required; --level) index = tree.level(level)[index].parent;
  return IsDomain(tree, plan.required, index);
}

// A domain, and the capacity by which it is judged.
struct Candidate {
  const GangCapacity* capacity;
  int index;
};

// Compares the room left over in the domain and then in each that holds it, in workers and then in
// GPUs: least is best, so that broken domains are used up and large ones stay whole.
bool IsTighter(const TopologyTree& tree, int level, Candidate a, Candidate b) {
  for (; level >= 0; --level) {
    if (a.index == b.index && a.capacity == b.capacity) return false;
    const int64_t room_a = a.capacity->usable(level, a.index);
    const int64_t room_b = b.capacity->usable(level, b.index);
    if (room_a != room_b) return room_a < room_b;
    const int64_t gpus_a = a.capacity->FreeGpus(level, a.index);
    const int64_t gpus_b = b.capacity->FreeGpus(level, b.index);
    if (gpus_a != gpus_b) return gpus_a < gpus_b;
    a.index = tree.level(level)[a.index].parent;
    b.index = tree.level(level)[b.index].parent;
  }
  return false;
}

// Returns true if the first domain is tighter or, as tight, has more pools of spot nodes.
bool IsBetter(const TopologyTree& tree, const GangCapacity& capacity, const GangPlan& plan,
              int level, int a, int b) {
  if (IsTighter(tree, level, {&capacity, a}, {&capacity, b})) return true;
  if (!plan.spot || IsTighter(tree, level, {&capacity, b}, {&capacity, a})) return false;
  return PoolsWithRoom(tree, capacity, level, a) > PoolsWithRoom(tree, capacity, level, b);
}

std::vector<int> Split(const TopologyTree& tree, const GangCapacity& capacity, const GangPlan& plan,
                       const DomainShare& share) {
  return plan.spot ? SplitBySpot(tree, capacity, plan.per_worker, *plan.spot, share)
                   : SplitOverNodes(tree, capacity, share);
}

// Returns the domain of the level that takes most of `size` by the capacity `first`, and of these
// the tightest; without `first` the tightest of all.
DomainShare DomainAt(const TopologyTree& tree, const GangCapacity& capacity, const GangPlan& plan,
                     int64_t size, int level, const GangCapacity* first = nullptr) {
  DomainShare best{level, -1, size};
  int64_t most = 0;
  for (int i = 0; i < static_cast<int>(tree.level(level).size()); ++i) {
    if (capacity.usable(level, i) < size || !IsDomain(tree, level, i)) continue;
    if (capacity.Gang(level, i) < size || !MeetsRequirement(tree, plan, level, i)) continue;
    const int64_t takes = first == nullptr ? 0 : std::min(size, first->Gang(level, i));
    const bool better = best.index < 0 || takes > most ||
                        (takes == most && IsBetter(tree, capacity, plan, level, i, best.index));
    if (!better) continue;
    best.index = i;
    most = takes;
  }
  return best;
}

// Takes the first level, from the preferred one outwards, that has a domain for the gang.
DomainShare ChooseDomain(const TopologyTree& tree, const GangCapacity& capacity,
                         const GangPlan& plan, int64_t size) {
  DomainShare best{0, -1, size};
  for (int level = plan.preferred; level >= plan.required && best.index < 0; --level) {
    best = DomainAt(tree, capacity, plan, size, level);
  }
  return best;
}

// Returns the kinds of nodes that a gang should preferably not mix with others. Empty: all are
// alike.
std::vector<NodeKind> KindsFor(const TopologyTree& tree, const GangPlan& plan) {
  std::vector<NodeKind> kinds;
  const int products = static_cast<int>(tree.gpu_products().size());
  if (plan.per_worker.gpus > 0) {
    for (int i = 0; products > 1 && i < products; ++i) kinds.push_back({Which::kOfProduct, i});
  } else if (products > 0 && tree.has_nodes_without_gpus()) {
    kinds.push_back({Which::kWithoutGpus});
  }
  return kinds;
}

// Used if no domain of the level has room for the gang on nodes without GPUs alone: these take what
// they can, in the domain where that is most. Empty: slices need both kinds of nodes in one domain.
std::vector<int> FewestOnGpuNodes(const TopologyTree& tree, const GangCapacity& now,
                                  const GangPlan& plan, int64_t size, int level) {
  const GangCapacity without(tree, plan.per_worker, plan.slices, Occupancy::kNow,
                             {Which::kWithoutGpus});
  const GangCapacity with(tree, plan.per_worker, plan.slices, Occupancy::kNow, {Which::kWithGpus});
  const int domain = DomainAt(tree, now, plan, size, level, &without).index;
  const int64_t first = std::min(size, without.Gang(level, domain));
  if (with.Gang(level, domain) < size - first) return {};
  std::vector<int> nodes;
  if (first > 0) nodes = SplitOverNodes(tree, without, {level, domain, first});
  const std::vector<int> rest = SplitOverNodes(tree, with, {level, domain, size - first});
  nodes.insert(nodes.end(), rest.begin(), rest.end());
  std::sort(nodes.begin(), nodes.end());
  return nodes;
}

}  // namespace

DomainShare LargestGang(const TopologyTree& tree, const GangCapacity& capacity,
                        const GangPlan& plan, int64_t most) {
  DomainShare best{plan.required, -1, 0};
  for (int i = 0; i < static_cast<int>(tree.level(plan.required).size()); ++i) {
    if (!IsDomain(tree, plan.required, i)) continue;
    const int64_t size = std::min(most, capacity.Gang(plan.required, i));
    if (size > best.workers) best = {plan.required, i, size};
  }
  return best;
}

std::vector<int> NodesForGang(const TopologyTree& tree, const GangCapacity& capacity,
                              const GangPlan& plan, int64_t size) {
  const DomainShare domain = ChooseDomain(tree, capacity, plan, size);
  return domain.index < 0 ? std::vector<int>() : Split(tree, capacity, plan, domain);
}

std::vector<int> AlikeNodesForGang(const TopologyTree& tree, const GangCapacity& now,
                                   const GangPlan& plan, int64_t size) {
  const DomainShare anywhere = ChooseDomain(tree, now, plan, size);
  if (anywhere.index < 0) return {};
  const int level = anywhere.level;
  const bool one_node = level == tree.node_level() && plan.per_worker.gpus > 0;
  std::optional<GangCapacity> best;
  int domain = -1;
  for (const NodeKind& kind : one_node ? std::vector<NodeKind>() : KindsFor(tree, plan)) {
    GangCapacity capacity(tree, plan.per_worker, plan.slices, Occupancy::kNow, kind,
                          plan.spot_limit());
    const int found = DomainAt(tree, capacity, plan, size, level).index;
    if (found < 0) continue;
    if (best && !IsTighter(tree, level, {&capacity, found}, {&*best, domain})) continue;
    best.emplace(std::move(capacity));
    domain = found;
  }
  if (best) return Split(tree, *best, plan, {level, domain, size});
  if (!plan.spot && plan.per_worker.gpus == 0 && !KindsFor(tree, plan).empty()) {
    std::vector<int> nodes = FewestOnGpuNodes(tree, now, plan, size, level);
    if (!nodes.empty()) return nodes;
  }
  return Split(tree, now, plan, anywhere);
}

}  // namespace muster::control
