#include "operator/core/saves/replica_ring.h"

#include <algorithm>
#include <cstddef>
#include <set>
#include <tuple>
#include <utility>

#include "operator/core/state/shared_levels.h"

namespace muster::control {
namespace {

// Returns the number of topology levels in the longest of the nodes' domain lists.
size_t LevelsOf(const std::vector<ReplicaPlace>& places) {
  size_t levels = 0;
  for (const ReplicaPlace& place : places) levels = std::max(levels, place.domains.size());
  return levels;
}

bool ShareNode(const ReplicaPlace& a, const ReplicaPlace& b) {
  return !a.node.empty() && a.node == b.node;
}

// Returns how many pairs share a node, the narrowest domain, the next one, and so on.
std::vector<int> SharedBy(const std::vector<ReplicaPlace>& places, size_t shift, size_t levels) {
  std::vector<int> shared(levels + 1);
  for (size_t i = 0; i < places.size(); ++i) {
    const ReplicaPlace& keeper = places[(i + shift) % places.size()];
    shared[0] += ShareNode(places[i], keeper);
    for (size_t level = 0; level < levels; ++level) {
      shared[levels - level] += ShareDomain(places[i].domains, keeper.domains, level);
    }
  }
  return shared;
}

// Returns the shifts worth trying: past the longest run of workers of one node or domain, the next
// one is in another.
std::set<size_t> Shifts(const std::vector<ReplicaPlace>& places, size_t levels) {
  std::set<size_t> shifts = {1, places.size() / 2};
  const auto add_longest_run = [&](const auto& same) {
    size_t longest = 0;
    size_t run = 0;
    for (size_t i = 0; i < places.size(); ++i) {
      run = i > 0 && same(places[i - 1], places[i]) ? run + 1 : 1;
      longest = std::max(longest, run);
    }
    if (longest < places.size()) shifts.insert(longest);
  };
  add_longest_run(ShareNode);
  for (size_t level = 0; level < levels; ++level) {
    add_longest_run(
        [&](const auto& a, const auto& b) { return ShareDomain(a.domains, b.domains, level); });
  }
  return shifts;
}

}  // namespace

std::map<int, int> ReplicaRing(std::vector<ReplicaPlace> places) {
  std::map<int, int> keepers;
  if (places.size() < 2) return keepers;
  std::sort(places.begin(), places.end(), [](const ReplicaPlace& a, const ReplicaPlace& b) {
    return std::tie(a.domains, a.node, a.index) < std::tie(b.domains, b.node, b.index);
  });
  const size_t levels = LevelsOf(places);
  size_t best = 1;
  std::vector<int> least = SharedBy(places, best, levels);
  for (const size_t shift : Shifts(places, levels)) {
    std::vector<int> shared = SharedBy(places, shift, levels);
    if (shared >= least) continue;
    best = shift;
    least = std::move(shared);
  }
  for (size_t i = 0; i < places.size(); ++i) {
    keepers[places[i].index] = places[(i + best) % places.size()].index;
  }
  return keepers;
}

}  // namespace muster::control
