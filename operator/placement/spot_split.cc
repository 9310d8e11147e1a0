#include "operator/placement/spot_split.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "operator/placement/pool_use.h"

namespace muster::control {
namespace {

// Returns the domains of a level that lie in a domain of a broader one, side by side: [first, end).
std::pair<int, int> DomainsWithin(const TopologyTree& tree, int from, int index, int level) {
  int first = index;
  int end = index + 1;
  for (int at = from; at < level; ++at) {
    int next = -1;
    int last = -1;
    for (int i = first; i < end; ++i) {
      const TopologyTree::Domain& domain = tree.level(at)[i];
      if (domain.end_child == 0) continue;
      if (next < 0) next = domain.first_child;
      last = domain.end_child;
    }
    first = next;
    end = last;
  }
  return {first, end};
}

NodeKind WithSpot(NodeKind kind, NodeKind::Spot spot) {
  kind.spot = spot;
  return kind;
}

class SpotSplitter {
 public:
  SpotSplitter(const TopologyTree& tree, const GangCapacity& capacity, const Resources& per_worker,
               const SpotLimit& limit)
      : tree_(tree),
        capacity_(capacity),
        limit_(limit),
        on_demand_(tree, per_worker, {}, capacity.occupancy(),
                   WithSpot(capacity.kind(), NodeKind::Spot::kNone)),
        spot_(tree, per_worker, {}, capacity.occupancy(),
              WithSpot(capacity.kind(), NodeKind::Spot::kOnly)) {}

  std::vector<int> Run(const DomainShare& share) {
    const SliceAt* slice = SliceWithin(share.level);
    if (slice == nullptr) return SplitPlainly(share, limit_.MostOf(share.workers));
    const SpotCosts all = CostsWithin(share, slice->level);
    return SplitInSlices(share, *slice,
                         Window(all, share.workers / slice->size,
                                [&](const auto& c) { return limit_.Allows(c, slice->size); }));
  }

 private:
  using Costs = std::vector<int64_t>;

  // The outermost slice that has to be kept whole within a domain of the level; null: none.
  const SliceAt* SliceWithin(int level) const {
    for (const SliceAt& slice : capacity_.slices()) {
      if (slice.level > level) return &slice;
    }
    return nullptr;
  }

  SpotCosts CostsWithin(const DomainShare& share, int level) const {
    SpotCosts all;
    const auto [first, end] = DomainsWithin(tree_, share.level, share.index, level);
    for (int i = first; i < end; ++i) all.AddAll(capacity_.costs(level, i));
    return all;
  }

  // Returns `count` costs in a row, the dearest that `allowed` takes; the cheapest at worst.
  template <typename Allowed>
  static Costs Window(const SpotCosts& all, int64_t count, const Allowed& allowed) {
    Costs sorted;
    for (const SpotCosts::Run& run : all.runs()) {
      sorted.insert(sorted.end(), static_cast<size_t>(std::min(run.units, count)), run.cost);
    }
    const auto at = [&](int64_t from) {
      return Costs(sorted.begin() + from, sorted.begin() + from + count);
    };
    int64_t best = 0;
    // Each step makes the sum of every beginning no smaller, so the last that is allowed is found
    // by bisection.
    int64_t too_many = static_cast<int64_t>(sorted.size()) - count + 1;
    while (too_many - best > 1) {
      const int64_t middle = (best + too_many) / 2;
      (allowed(at(middle)) ? best : too_many) = middle;
    }
    return at(best);
  }

  // Gives each unit of `costs` to a domain that has one of this cost: to domains that have some
  // already, then to those with most room.
  std::map<int, Costs> DomainsFor(const DomainShare& share, int level, const Costs& costs) const {
    const auto [first, end] = DomainsWithin(tree_, share.level, share.index, level);
    std::map<int, Costs> given;
    for (auto run = costs.begin(); run != costs.end();) {
      const int64_t cost = *run;
      const auto next = std::upper_bound(run, costs.end(), cost);
      int64_t left = next - run;
      std::vector<std::tuple<bool, int64_t, int, int64_t>> order;
      for (int i = first; i < end; ++i) {
        for (const SpotCosts::Run& has : capacity_.costs(level, i).runs()) {
          if (has.cost != cost) continue;
          order.emplace_back(given.count(i) == 0, -capacity_.usable(level, i), i, has.units);
        }
      }
      std::sort(order.begin(), order.end());
      for (const auto& [is_new, room, domain, units] : order) {
        const int64_t taken = std::min(left, units);
        if (taken <= 0) break;
        given[domain].insert(given[domain].end(), static_cast<size_t>(taken), cost);
        left -= taken;
      }
      run = next;
    }
    return given;
  }

  std::vector<int> SplitInSlices(const DomainShare& share, const SliceAt& slice,
                                 const Costs& costs) {
    std::vector<std::pair<int64_t, std::vector<int>>> slices;  // by workers on spot nodes
    for (const auto& [domain, units] : DomainsFor(share, slice.level, costs)) {
      int64_t budget = 0;
      for (const int64_t one : units) budget += one;
      const auto workers = static_cast<int64_t>(units.size()) * slice.size;
      const std::vector<int> nodes = SplitWithin({slice.level, domain, workers}, budget);
      for (auto begin = nodes.begin(); begin != nodes.end(); begin += slice.size) {
        std::vector<int> one(begin, begin + slice.size);
        const auto on_spot = std::count_if(one.begin(), one.end(),
                                           [this](int node) { return tree_.node(node).is_spot(); });
        slices.emplace_back(on_spot, std::move(one));
      }
    }
    std::stable_sort(slices.begin(), slices.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    std::vector<int> all;
    for (const auto& [on_spot, nodes] : slices) all.insert(all.end(), nodes.begin(), nodes.end());
    return all;
  }

  std::vector<int> SplitWithin(const DomainShare& share, int64_t budget) {
    const SliceAt* slice = SliceWithin(share.level);
    if (slice == nullptr) return SplitPlainly(share, budget);
    const SpotCosts all = CostsWithin(share, slice->level);
    return SplitInSlices(share, *slice,
                         Window(all, share.workers / slice->size, [&](const auto& c) {
                           int64_t sum = 0;
                           for (const int64_t one : c) sum += one;
                           return sum <= budget;
                         }));
  }

  // Splits a share that no slice divides.
  std::vector<int> SplitPlainly(const DomainShare& share, int64_t budget) {
    const int64_t on_spot =
        std::min({budget, spot_.usable(share.level, share.index), share.workers});
    const int64_t rest = share.workers - on_spot;
    std::vector<int> nodes;
    if (rest > 0) nodes = SplitOverNodes(tree_, on_demand_, {share.level, share.index, rest});
    if (on_spot == 0) return nodes;
    const std::vector<int> spot =
        SplitOverNodes(tree_, spot_, {share.level, share.index, on_spot}, &pools_);
    nodes.insert(nodes.end(), spot.begin(), spot.end());
    return nodes;
  }

  const TopologyTree& tree_;
  const GangCapacity& capacity_;
  const SpotLimit& limit_;
  const GangCapacity on_demand_;
  const GangCapacity spot_;
  PoolUse pools_;
};

}  // namespace

std::vector<int> SplitBySpot(const TopologyTree& tree, const GangCapacity& capacity,
                             const Resources& per_worker, const SpotLimit& limit,
                             const DomainShare& share) {
  return SpotSplitter(tree, capacity, per_worker, limit).Run(share);
}

int PoolsWithRoom(const TopologyTree& tree, const GangCapacity& capacity, int level, int index) {
  const auto [first, end] = DomainsWithin(tree, level, index, tree.node_level());
  std::set<int> pools;
  for (int node = first; node < end; ++node) {
    if (tree.node(node).is_spot() && capacity.usable(tree.node_level(), node) > 0) {
      pools.insert(tree.node(node).spot_pool);
    }
  }
  return static_cast<int>(pools.size());
}

}  // namespace muster::control
