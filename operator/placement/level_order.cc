#include "operator/placement/level_order.h"

#include <map>
#include <string>
#include <utility>
#include <vector>

namespace muster::control {
namespace {

// Returns true if every domain of `inner` lies within one of `outer`.
bool Nests(const Topology& topology, size_t inner, size_t outer) {
  std::map<std::string, const std::string*> place;
  for (const auto& path : topology.paths) {
    if (path[inner].empty() || path[outer].empty()) continue;
    const auto [known, is_new] = place.emplace(path[inner], &path[outer]);
    if (!is_new && *known->second != path[outer]) return false;
  }
  return true;
}

void Swap(Topology& topology, size_t a, size_t b) {
  std::swap(topology.levels[a], topology.levels[b]);
  for (auto& path : topology.paths) std::swap(path[a], path[b]);
}

}  // namespace

void OrderLevels(std::vector<size_t> nvlink, Topology& topology) {
  const auto narrower = [&](size_t a, size_t b) {
    return Nests(topology, a, b) && !Nests(topology, b, a);
  };
  size_t end = topology.levels.size();
  for (auto level = nvlink.rbegin(); level != nvlink.rend(); ++level) {
    for (; *level + 1 < end && narrower(*level, *level + 1); ++*level) {
      Swap(topology, *level, *level + 1);
    }
    end = *level;
  }
  size_t begin = 0;
  for (size_t& level : nvlink) {
    for (; level > begin && narrower(level - 1, level); --level) Swap(topology, level - 1, level);
    begin = level + 1;
  }
}

}  // namespace muster::control
