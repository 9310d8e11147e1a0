#include "cli/plan/cluster_wiring.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <set>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace muster::cli {
namespace {

constexpr char kProductLabel[] = "nvidia.com/gpu.product";

// Returns the GPUs of the fullest domain of a level.
int64_t LargestDomain(const control::Inventory& inventory, size_t level) {
  std::map<std::string, int64_t> gpus;
  for (const control::NodeInventory& node : inventory.nodes) {
    if (node.domains.size() <= level) continue;
    const auto end = node.domains.begin() + static_cast<std::ptrdiff_t>(level) + 1;
    gpus[absl::StrJoin(node.domains.begin(), end, "/")] += node.allocatable.gpus;
  }
  int64_t most = 0;
  for (const auto& [name, count] : gpus) most = std::max(most, count);
  return most;
}

planner::Wiring WiringOfLevels(const control::Inventory& inventory, int32_t of_node) {
  planner::Wiring wiring{.joined = of_node, .machine = of_node};
  for (size_t level = 0; level < inventory.levels.size(); ++level) {
    const int64_t largest = LargestDomain(inventory, level);
    if (largest < 1) continue;
    if (absl::StrContains(inventory.levels[level], "nvlink")) {
      wiring.joined = std::max(wiring.joined, static_cast<int32_t>(largest));
    } else {
      wiring.leaf = largest;
    }
  }
  return wiring;
}

}  // namespace

absl::StatusOr<ClusterGpus> GpusOf(const SimCluster& cluster) {
  ClusterGpus gpus;
  std::set<std::string> products;
  for (size_t i = 0; i < cluster.inventory.nodes.size(); ++i) {
    const int64_t has = cluster.inventory.nodes[i].allocatable.gpus;
    if (has < 1) continue;
    gpus.count += has;
    gpus.of_node = gpus.of_node == 0 ? static_cast<int32_t>(has)
                                     : std::min(gpus.of_node, static_cast<int32_t>(has));
    std::string product;
    for (const auto& [key, value] : cluster.labels[i]) {
      if (key == kProductLabel) product = std::string(value);
    }
    products.insert(product);
  }
  if (gpus.count == 0) return absl::InvalidArgumentError("the cluster has no GPUs");
  if (products.size() > 1) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the cluster has nodes with several kinds of GPUs (", absl::StrJoin(products, ", "),
        "), and ranks would wait for the slowest: give a file with one kind"));
  }
  gpus.product = *products.begin();
  gpus.wiring = WiringOfLevels(cluster.inventory, gpus.of_node);
  return gpus;
}

}  // namespace muster::cli
