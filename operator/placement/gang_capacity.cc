#include "operator/placement/gang_capacity.h"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

namespace muster::control {

int64_t WorkersThatFit(const Resources& have, const Resources& each) {
  int64_t fit = kUnboundedWorkers;
  auto bound = [&fit](int64_t amount, int64_t need) {
    if (need > 0) fit = std::min(fit, std::max<int64_t>(0, amount) / need);
  };
  bound(have.gpus, each.gpus);
  bound(have.cpu_millis, each.cpu_millis);
  bound(have.memory_bytes, each.memory_bytes);
  bound(have.slots, each.slots);
  return fit;
}

GangCapacity::GangCapacity(const TopologyTree& tree, const Resources& per_worker,
                           std::vector<SliceAt> slices, Occupancy occupancy, NodeKind kind,
                           const SpotLimit* spot)
    : tree_(tree),
      per_worker_(per_worker),
      slices_(std::move(slices)),
      occupancy_(occupancy),
      kind_(kind),
      spot_(spot),
      usable_(tree.depth()),
      costs_(spot == nullptr ? 0 : tree.depth()) {
  for (int level = 0; level < tree.depth(); ++level) {
    usable_[level].resize(tree.level(level).size());
    if (spot != nullptr) costs_[level].resize(tree.level(level).size());
  }
  Fill(0, 0);
  if (spot != nullptr) FillCosts(0, 0);
}

int64_t GangCapacity::OnNode(int index) {
  const TopologyTree::Node& node = tree_.node(index);
  if (!node.schedulable) return 0;
  const int64_t fit =
      WorkersThatFit(occupancy_ == Occupancy::kEmpty ? node.allocatable : node.free, per_worker_);
  workers_ += fit;
  return fit;
}

int64_t GangCapacity::Fill(int level, int index) {
  const TopologyTree::Domain& domain = tree_.level(level)[index];
  int64_t fit = 0;
  if (level == tree_.node_level()) {
    fit = kind_.Includes(tree_.node(index)) ? OnNode(index) : 0;
  } else {
    // The free amounts below sum to less than one worker, so no node of it holds one.
    if (occupancy_ == Occupancy::kNow && WorkersThatFit(domain.free, per_worker_) == 0) return 0;
    for (int child = domain.first_child; child < domain.end_child; ++child) {
      fit += Fill(level + 1, child);
    }
  }
  for (const SliceAt& slice : slices_) {
    if (slice.level != level) continue;
    fit = level > 0 && domain.name.empty() ? 0 : fit / slice.size * slice.size;
  }
  return usable_[level][index] = fit;
}

void GangCapacity::FillCosts(int level, int index) {
  if (usable_[level][index] == 0) return;
  SpotCosts& costs = costs_[level][index];
  int below = 1;
  if (level == tree_.node_level()) {
    const int64_t each = tree_.node(index).is_spot() ? 1 : 0;
    costs.Add(each, WorkersThatFit(occupancy_ == Occupancy::kEmpty ? tree_.node(index).allocatable
                                                                   : tree_.node(index).free,
                                   per_worker_));
  } else {
    const TopologyTree::Domain& domain = tree_.level(level)[index];
    for (int child = domain.first_child; child < domain.end_child; ++child) {
      FillCosts(level + 1, child);
      costs.AddAll(costs_[level + 1][child]);
    }
    below = UnitAt(level + 1);
  }
  costs = costs.Grouped(UnitAt(level) / below);
}

int64_t GangCapacity::Gang(int level, int index) const {
  const int domain = index;
  const int64_t fit = usable_[level][index] / outermost_slice() * outermost_slice();
  if (fit == 0) return 0;
  int at = level;
  for (auto slice = slices_.rbegin(); slice != slices_.rend(); ++slice) {
    for (; at > slice->level; --at) index = tree_.level(at)[index].parent;
    const bool above = slice->level < level;
    if (above && at > 0 && tree_.level(at)[index].name.empty()) return 0;
  }
  if (spot_ == nullptr) return fit;
  return std::min(fit, WithinLimit(level, domain));
}

int64_t GangCapacity::WithinLimit(int level, int index) const {
  const int unit = outermost_slice();
  return spot_->Largest(costs_[level][index].Grouped(unit / UnitAt(level)), unit);
}

int GangCapacity::UnitAt(int level) const {
  for (const SliceAt& slice : slices_) {
    if (slice.level >= level) return slice.size;
  }
  return 1;
}

}  // namespace muster::control
