#ifndef MUSTER_OPERATOR_CORE_STATE_SHARED_LEVELS_H_
#define MUSTER_OPERATOR_CORE_STATE_SHARED_LEVELS_H_

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

// How near two nodes are in the network. Both lists have the domains of a node, from broad to
// narrow; a domain without a name is shared by none. Pure.
namespace muster::control {

inline bool ShareDomain(const std::vector<std::string>& a, const std::vector<std::string>& b,
                        size_t level) {
  return level < a.size() && level < b.size() && !a[level].empty() && a[level] == b[level];
}

// Returns the number of levels, counted from the broadest, down to the narrowest domain that both
// share; 0: they share none.
inline size_t SharedLevels(const std::vector<std::string>& a, const std::vector<std::string>& b) {
  size_t levels = std::min(a.size(), b.size());
  while (levels > 0 && !ShareDomain(a, b, levels - 1)) --levels;
  return levels;
}

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_CORE_STATE_SHARED_LEVELS_H_
