#ifndef MUSTER_OPERATOR_PLACEMENT_SPOT_BOUNDS_H_
#define MUSTER_OPERATOR_PLACEMENT_SPOT_BOUNDS_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/container/inlined_vector.h"

// The workers of a gang that may be on spot nodes, and the arithmetic by which Place keeps to that.
namespace muster::control {

// The bounds that a job states. They hold together, at each size that the gang has.
struct SpotBounds {
  // False: the job states nothing, and spot nodes are like others.
  bool given = false;
  bool allow = true;  // false: no worker is on a spot node
  // The largest fraction of the gang on spot nodes, rounded down to workers: 0..1.
  double max_fraction = 1;
  // The workers on other nodes; a smaller gang has all of its workers there.
  int on_demand_floor = 0;

  // Returns how many of a gang of that size may be on spot nodes.
  int64_t MostOf(int64_t workers) const;

  friend bool operator==(const SpotBounds&, const SpotBounds&) = default;
};

// The spot nodes that the units of a domain need: a unit is a worker, or a slice that is kept whole
// there, and costs the workers of it that must be on spot nodes. The cheapest come first. The k
// cheapest units of a domain cost the least that any k units of it can cost, all at once, and so do
// units that are made of cheapest ones: each further unit costs no less than the one before.
class SpotCosts {
 public:
  struct Run {
    int64_t cost;
    int64_t units;
    friend bool operator==(const Run&, const Run&) = default;
  };

  // Adds units of that cost; takes them away if negative.
  void Add(int64_t cost, int64_t units);
  void AddAll(const SpotCosts& other, int sign = 1);
  // Makes units of `by` of these each; those left over are dropped.
  SpotCosts Grouped(int64_t by) const;
  // Returns the cost of the cheapest `units`; there must be so many.
  int64_t CostOf(int64_t units) const;
  int64_t units() const;
  // By cost, rising; no run is empty.
  const absl::InlinedVector<Run, 2>& runs() const { return runs_; }

  friend bool operator==(const SpotCosts& a, const SpotCosts& b) { return a.runs_ == b.runs_; }

 private:
  absl::InlinedVector<Run, 2> runs_;
};

// The bound for each size of one gang, or of those workers of a gang that have no node yet.
class SpotLimit {
 public:
  // The sizes of a gang are min..max; it may shrink to min later.
  SpotLimit(const SpotBounds& bounds, int64_t min, int64_t max);
  // `most_on_spot`: by size, from 0 to the largest.
  SpotLimit(std::vector<int> most_on_spot, int64_t min)
      : most_(std::move(most_on_spot)), min_(min) {}

  // Sizes above the largest count as that.
  int64_t MostOf(int64_t workers) const;
  int64_t max() const { return static_cast<int64_t>(most_.size()) - 1; }
  // Returns the largest size, a multiple of `unit`, at which units of these costs keep to the
  // bound, and do so at each smaller size down to the least, which the cheapest of them then make
  // up. If there is no size from the least on, returns the largest below it; 0: none.
  int64_t Largest(const SpotCosts& costs, int64_t unit) const;
  // Returns true if units of these costs, taken in order, keep to the bound at each size from the
  // least on.
  bool Allows(const std::vector<int64_t>& costs, int64_t unit) const;

 private:
  std::vector<int> most_;
  int64_t min_;
};

// One worker of a gang that has a node, or is to get one.
struct SpotSeat {
  int worker = 0;
  bool placed = false;
  bool on_spot = false;  // with `placed`
};

// Returns, by number k, how many of the first k workers without a node may be on spot nodes, so
// that the gang keeps to its bounds at each size from `min` on that is a multiple of `unit`, now
// and when its last workers leave: the first of the k go to other nodes. Where those that have
// nodes break a bound already, none more may be on a spot node. `seats` rise by worker.
std::vector<int> SpotLeftFor(const std::vector<SpotSeat>& seats, const SpotBounds& bounds, int min,
                             int unit);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_PLACEMENT_SPOT_BOUNDS_H_
