#include "operator/placement/gang_split.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <set>
#include <tuple>
#include <vector>

namespace muster::control {
namespace {

struct Bin {
  int64_t room;  // in units
  int64_t free_gpus;
  int index;
};

// The amount that goes to a node, and the node's room, in units.
struct Load {
  int node = 0;
  int64_t room = 0;
  int64_t amount = 0;
};

class Splitter {
 public:
  Splitter(const TopologyTree& tree, const GangCapacity& capacity, PoolUse* pools)
      : tree_(tree),
        capacity_(capacity),
        unit_(capacity.UnitAt(tree.node_level())),
        pools_(pools) {}

  std::vector<int> Run(const DomainShare& share) {
    Split(share);
    EvenOutInSlices();
    CountPools();
    std::vector<int> nodes;
    nodes.reserve(static_cast<size_t>(share.workers));
    for (const Load& load : loads_) nodes.insert(nodes.end(), load.amount * unit_, load.node);
    return nodes;
  }

 private:
  void Split(const DomainShare& share) {
    if (share.level == tree_.node_level()) {
      loads_.push_back({share.index, share.workers / unit_, share.workers / unit_});
    } else if (share.level + 1 == tree_.node_level()) {
      SplitEvenly(share);
    } else {
      SplitOverFew(share);
    }
  }

  std::vector<Bin> BinsOf(const DomainShare& share, int unit) const {
    const TopologyTree::Domain& domain = tree_.level(share.level)[share.index];
    const int below = share.level + 1;
    std::vector<Bin> bins;
    for (int child = domain.first_child; child < domain.end_child; ++child) {
      const int64_t room = capacity_.usable(below, child) / unit;
      if (room > 0) bins.push_back({room, capacity_.FreeGpus(below, child), child});
    }
    return bins;
  }

  void SplitOverFew(const DomainShare& share) {
    const int below = share.level + 1;
    const int unit = capacity_.UnitAt(below);
    std::vector<Bin> bins = BinsOf(share, unit);
    // Sorted by room; among equals the one with fewest GPUs left over, then the leftmost, is last.
    std::sort(bins.begin(), bins.end(), [](const Bin& a, const Bin& b) {
      return std::tie(a.room, b.free_gpus, b.index) < std::tie(b.room, a.free_gpus, a.index);
    });
    std::vector<DomainShare> parts;
    for (int64_t left = share.workers / unit; left > 0 && !bins.empty();) {
      auto fits =
          std::lower_bound(bins.begin(), bins.end(), left,
                           [](const Bin& bin, int64_t amount) { return bin.room < amount; });
      if (fits != bins.end()) {
        fits = std::upper_bound(fits, bins.end(), fits->room,
                                [](int64_t room, const Bin& bin) { return room < bin.room; });
        parts.push_back({below, std::prev(fits)->index, left * unit});
        break;
      }
      parts.push_back({below, bins.back().index, bins.back().room * unit});
      left -= bins.back().room;
      bins.pop_back();
    }
    std::sort(parts.begin(), parts.end(),
              [](const DomainShare& a, const DomainShare& b) { return a.index < b.index; });
    for (const DomainShare& part : parts) Split(part);
  }

  // The fewest nodes are those with most room. The even amounts for these go, the smallest first,
  // to the nodes with least room that can take them; so each amount finds a node.
  void SplitEvenly(const DomainShare& share) {
    std::vector<Bin> bins = BinsOf(share, unit_);
    std::sort(bins.begin(), bins.end(), [](const Bin& a, const Bin& b) {
      return std::tie(a.room, a.free_gpus, a.index) < std::tie(b.room, b.free_gpus, b.index);
    });
    int64_t room = 0;
    auto largest = bins.end();
    while (room < share.workers / unit_ && largest != bins.begin()) room += (--largest)->room;
    int64_t left = std::min(room, share.workers / unit_);
    const size_t before = loads_.size();
    std::vector<int64_t> amounts;
    for (auto bin = largest; bin != bins.end(); ++bin) {
      amounts.push_back(std::min(bin->room, left / (bins.end() - bin)));
      left -= amounts.back();
    }
    if (pools_ == nullptr) {
      TakeTightest(bins, amounts);
    } else {
      TakeOfManyPools(bins, amounts);
    }
    std::sort(loads_.begin() + static_cast<ptrdiff_t>(before), loads_.end(),
              [](const Load& a, const Load& b) { return a.node < b.node; });
  }

  void TakeTightest(const std::vector<Bin>& bins, const std::vector<int64_t>& amounts) {
    auto next = bins.begin();
    for (const int64_t amount : amounts) {
      next = std::lower_bound(next, bins.end(), amount,
                              [](const Bin& one, int64_t least) { return one.room < least; });
      loads_.push_back({next->index, next->room, amount});
      ++next;
    }
  }

  // Begins with the largest amount: each that can take one can take all that come after it, so a
  // free choice never leaves an amount without a node.
  void TakeOfManyPools(const std::vector<Bin>& bins, const std::vector<int64_t>& amounts) {
    using Place = std::tuple<int64_t, int64_t, int>;  // room, free GPUs, node
    std::map<int, std::set<Place>> of_pool;
    for (const Bin& bin : bins) {
      of_pool[tree_.node(bin.index).spot_pool].insert({bin.room, bin.free_gpus, bin.index});
    }
    PoolUse used = *pools_;
    for (const Load& load : loads_) used[tree_.node(load.node).spot_pool] += load.amount * unit_;
    for (auto amount = amounts.rbegin(); amount != amounts.rend(); ++amount) {
      std::tuple<int64_t, Place> best;
      int best_pool = TopologyTree::kNoSpot;
      bool found = false;
      for (const auto& [pool, places] : of_pool) {
        const auto tightest = places.lower_bound({*amount, -1, -1});
        if (tightest == places.end()) continue;
        const std::tuple<int64_t, Place> offer{used[pool], *tightest};
        if (found && offer >= best) continue;
        best = offer;
        best_pool = pool;
        found = true;
      }
      const Place place = std::get<1>(best);
      of_pool[best_pool].erase(place);
      used[best_pool] += *amount * unit_;
      loads_.push_back({std::get<2>(place), std::get<0>(place), *amount});
    }
  }

  void CountPools() {
    if (pools_ == nullptr) return;
    for (const Load& load : loads_) {
      (*pools_)[tree_.node(load.node).spot_pool] += load.amount * unit_;
    }
  }

  // Evens out the loads, but only within each domain of the innermost slices above the node.
  void EvenOutInSlices() {
    int level = 0;
    for (const SliceAt& slice : capacity_.slices()) {
      if (slice.level < tree_.node_level()) level = slice.level;
    }
    for (auto begin = loads_.begin(); begin != loads_.end();) {
      const int domain = tree_.AncestorOf(begin->node, level);
      const auto end = std::find_if(begin, loads_.end(), [&](const Load& load) {
        return tree_.AncestorOf(load.node, level) != domain;
      });
      EvenOut(begin, end);
      begin = end;
    }
  }

  // The leftmost of nodes with equal room takes the remainder.
  static void EvenOut(std::vector<Load>::iterator begin, std::vector<Load>::iterator end) {
    std::vector<Load*> order;
    int64_t left = 0;
    for (auto load = begin; load != end; ++load) {
      order.push_back(&*load);
      left += load->amount;
    }
    std::sort(order.begin(), order.end(), [](const Load* a, const Load* b) {
      return std::tie(a->room, b->node) < std::tie(b->room, a->node);
    });
    for (size_t i = 0; i < order.size(); ++i) {
      const auto nodes = static_cast<int64_t>(order.size() - i);
      order[i]->amount = std::min(order[i]->room, left / nodes);
      left -= order[i]->amount;
    }
  }

  const TopologyTree& tree_;
  const GangCapacity& capacity_;
  const int unit_;  // of amounts on one node
  PoolUse* const pools_;
  std::vector<Load> loads_;
};

}  // namespace

std::vector<int> SplitOverNodes(const TopologyTree& tree, const GangCapacity& capacity,
                                const DomainShare& share, PoolUse* pools) {
  return Splitter(tree, capacity, pools).Run(share);
}

}  // namespace muster::control
