#ifndef MUSTER_OPERATOR_PLACEMENT_GANG_CAPACITY_H_
#define MUSTER_OPERATOR_PLACEMENT_GANG_CAPACITY_H_

#include <cstdint>
#include <vector>

#include "operator/placement/inventory.h"
#include "operator/placement/spot_bounds.h"
#include "operator/placement/topology_tree.h"

namespace muster::control {

// More workers than any gang has: the number that fit if they need nothing.
inline constexpr int64_t kUnboundedWorkers = 1'000'000;

// Returns the number of workers of `each` that fit into `have`.
int64_t WorkersThatFit(const Resources& have, const Resources& each);

// `size` workers that must share one domain of a level of the tree.
struct SliceAt {
  int size = 1;
  int level = 0;
};

enum class Occupancy {
  kNow,    // free amounts
  kEmpty,  // amounts when nothing runs
};

// The nodes that count: all, those without GPUs, those with GPUs, or those of one product; of these
// all, the spot nodes or the others.
struct NodeKind {
  enum class Which { kAll, kWithoutGpus, kWithGpus, kOfProduct };
  enum class Spot { kAny, kOnly, kNone };
  Which which = Which::kAll;
  int gpu_product = 0;  // index in TopologyTree::gpu_products(), with kOfProduct
  Spot spot = Spot::kAny;

  bool Includes(const TopologyTree::Node& node) const {
    if (spot != Spot::kAny && node.is_spot() != (spot == Spot::kOnly)) return false;
    if (which == Which::kAll) return true;
    if (which == Which::kOfProduct) return node.gpu_product == gpu_product;
    return (node.gpu_product == TopologyTree::kNoGpus) == (which == Which::kWithoutGpus);
  }
};

// Counts the workers of one shape that fit into each domain of a tree, slices kept whole: a domain
// of a slice's level holds a multiple of the slice, a domain above it the sum of its children.
// Slices come outermost first; each size is a multiple of the next and no level is broader than the
// one before it. Full domains are skipped. The tree and the limit must outlive it and stay as they
// are.
class GangCapacity {
 public:
  // `spot`: bounds the workers on spot nodes; null: any number may be there.
  GangCapacity(const TopologyTree& tree, const Resources& per_worker, std::vector<SliceAt> slices,
               Occupancy occupancy, NodeKind kind = {}, const SpotLimit* spot = nullptr);

  // Workers in whole slices of the level and of those below it, whatever may be on spot nodes.
  int64_t usable(int level, int index) const { return usable_[level][index]; }
  // The largest gang of whole slices that the domain holds alone. With a limit on spot nodes it
  // holds each smaller size from the limit's least on, too.
  int64_t Gang(int level, int index) const;
  // The costs of units of UnitAt(level) in the domain. Only with a limit on spot nodes.
  const SpotCosts& costs(int level, int index) const { return costs_[level][index]; }
  // Amounts for one domain of `level` are multiples of this.
  int UnitAt(int level) const;
  int outermost_slice() const { return slices_.empty() ? 1 : slices_.front().size; }
  // GPUs that are free in the domain, of any kind; 0 with Occupancy::kEmpty.
  int64_t FreeGpus(int level, int index) const {
    return occupancy_ == Occupancy::kNow ? tree_.level(level)[index].free.gpus : 0;
  }
  // Workers that fit on all nodes, without regard to slices.
  int64_t workers() const { return workers_; }
  const std::vector<SliceAt>& slices() const { return slices_; }
  const NodeKind& kind() const { return kind_; }
  Occupancy occupancy() const { return occupancy_; }

 private:
  int64_t Fill(int level, int index);
  int64_t OnNode(int index);
  void FillCosts(int level, int index);
  int64_t WithinLimit(int level, int index) const;

  const TopologyTree& tree_;
  const Resources per_worker_;
  const std::vector<SliceAt> slices_;
  const Occupancy occupancy_;
  const NodeKind kind_;
  const SpotLimit* const spot_;
  int64_t workers_ = 0;
  std::vector<std::vector<int64_t>> usable_;  // by level and index
  std::vector<std::vector<SpotCosts>> costs_;
};

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_PLACEMENT_GANG_CAPACITY_H_
