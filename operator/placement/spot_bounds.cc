#include "operator/placement/spot_bounds.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace muster::control {
namespace {

// Keeps 0.29 * 100 from being rounded down to 28.
constexpr double kRounding = 1e-9;

}  // namespace

int64_t SpotBounds::MostOf(int64_t workers) const {
  if (!given) return workers;
  if (!allow) return 0;
  const double fraction = max_fraction * static_cast<double>(workers) + kRounding;
  const auto by_fraction = static_cast<int64_t>(std::floor(fraction));
  const int64_t by_floor = workers - std::min<int64_t>(on_demand_floor, workers);
  return std::clamp<int64_t>(by_fraction, 0, by_floor);
}

void SpotCosts::Add(int64_t cost, int64_t units) {
  if (units == 0) return;
  auto at = std::lower_bound(runs_.begin(), runs_.end(), cost,
                             [](const Run& run, int64_t least) { return run.cost < least; });
  if (at == runs_.end() || at->cost != cost) {
    runs_.insert(at, {cost, units});
    return;
  }
  at->units += units;
  if (at->units == 0) runs_.erase(at);
}

void SpotCosts::AddAll(const SpotCosts& other, int sign) {
  for (const Run& run : other.runs_) Add(run.cost, run.units * sign);
}

SpotCosts SpotCosts::Grouped(int64_t by) const {
  if (by <= 1) return *this;
  SpotCosts grouped;
  int64_t begun = 0;  // units in a group that is not full yet
  int64_t cost = 0;
  for (const Run& run : runs_) {
    int64_t left = run.units;
    if (begun > 0) {
      const int64_t taken = std::min(left, by - begun);
      begun += taken;
      cost += taken * run.cost;
      left -= taken;
      if (begun < by) continue;
      grouped.Add(cost, 1);
    }
    grouped.Add(by * run.cost, left / by);
    begun = left % by;
    cost = begun * run.cost;
  }
  return grouped;
}

int64_t SpotCosts::CostOf(int64_t units) const {
  int64_t cost = 0;
  for (const Run& run : runs_) {
    const int64_t taken = std::min(units, run.units);
    cost += taken * run.cost;
    units -= taken;
  }
  return cost;
}

int64_t SpotCosts::units() const {
  int64_t units = 0;
  for (const Run& run : runs_) units += run.units;
  return units;
}

SpotLimit::SpotLimit(const SpotBounds& bounds, int64_t min, int64_t max) : min_(min) {
  most_.reserve(static_cast<size_t>(max) + 1);
  for (int64_t size = 0; size <= max; ++size) {
    most_.push_back(static_cast<int>(bounds.MostOf(size)));
  }
}

int64_t SpotLimit::MostOf(int64_t workers) const {
  return most_[static_cast<size_t>(std::clamp<int64_t>(workers, 0, max()))];
}

int64_t SpotLimit::Largest(const SpotCosts& costs, int64_t unit) const {
  int64_t largest = 0;
  int64_t size = 0;
  int64_t cost = 0;
  for (const SpotCosts::Run& run : costs.runs()) {
    for (int64_t i = 0; i < run.units; ++i) {
      size += unit;
      cost += run.cost;
      if (size > max()) return largest;
      const bool holds = cost <= MostOf(size);
      if (!holds && size >= min_) return largest;
      if (holds) largest = size;
    }
  }
  return largest;
}

bool SpotLimit::Allows(const std::vector<int64_t>& costs, int64_t unit) const {
  int64_t size = 0;
  int64_t cost = 0;
  for (const int64_t one : costs) {
    size += unit;
    cost += one;
    if (size >= min_ && cost > MostOf(size)) return false;
  }
  return size >= min_ || cost <= MostOf(size);
}

std::vector<int> SpotLeftFor(const std::vector<SpotSeat>& seats, const SpotBounds& bounds, int min,
                             int unit) {
  std::vector<int> left = {0};
  // The workers without a node that the sizes up to here need on other nodes.
  int64_t needed = 0;
  int64_t size = 0;
  int64_t open = 0;
  int64_t on_spot = 0;
  const auto need = [&](int64_t of_size, int64_t of_open, int64_t of_spot, bool last) {
    const bool counts = last || (of_size >= min && of_size % std::max(1, unit) == 0);
    if (!counts) return int64_t{0};
    return of_open - std::max<int64_t>(0, bounds.MostOf(of_size) - of_spot);
  };
  for (size_t i = 0; i < seats.size(); ++i) {
    ++size;
    if (seats[i].placed) {
      on_spot += seats[i].on_spot ? 1 : 0;
      needed = std::max(needed, need(size, open, on_spot, false));
      continue;
    }
    ++open;
    needed = std::max(needed, need(size, open, on_spot, false));
    // Counts the workers after it that have nodes, as if no further one got a node.
    int64_t here = needed;
    int64_t then = size;
    int64_t then_spot = on_spot;
    for (size_t j = i + 1; j < seats.size(); ++j) {
      if (!seats[j].placed) continue;
      ++then;
      then_spot += seats[j].on_spot ? 1 : 0;
      here = std::max(here, need(then, open, then_spot, false));
    }
    here = std::max(here, need(then, open, then_spot, true));
    left.push_back(static_cast<int>(open - std::min(open, here)));
  }
  return left;
}

}  // namespace muster::control
