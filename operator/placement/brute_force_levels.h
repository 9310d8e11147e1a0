#ifndef MUSTER_OPERATOR_PLACEMENT_BRUTE_FORCE_LEVELS_H_
#define MUSTER_OPERATOR_PLACEMENT_BRUTE_FORCE_LEVELS_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "operator/placement/inventory.h"

// The levels of the small clusters of the property tests, whose search reads the nodes themselves
// and does not use the tree.
namespace muster::control {

inline const std::vector<std::string> kLevels = {"spine", "leaf"};

// The path of the node's domain at a level; empty if it is in none there.
inline std::string DomainOf(const NodeInventory& node, const std::string& level) {
  if (level == "host") return absl::StrCat("node ", node.name);
  std::string path;
  for (size_t i = 0; i < kLevels.size(); ++i) {
    const std::string name = i < node.domains.size() ? node.domains[i] : "";
    absl::StrAppend(&path, "/", name);
    if (kLevels[i] == level) return name.empty() ? "" : path;
  }
  return "";
}

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_PLACEMENT_BRUTE_FORCE_LEVELS_H_
