#include "operator/placement/topology_tree.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <numeric>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace muster::control {
namespace {

// More than any node has, and small enough that the sum over any cluster does not overflow.
constexpr int64_t kMostOfANode = int64_t{1} << 46;

Resources Sane(const Resources& r) {
  auto clamp = [](int64_t v) { return std::clamp<int64_t>(v, 0, kMostOfANode); };
  return {clamp(r.gpus), clamp(r.cpu_millis), clamp(r.memory_bytes), clamp(r.slots)};
}

Resources Largest(const Resources& a, const Resources& b) {
  return {std::max(a.gpus, b.gpus), std::max(a.cpu_millis, b.cpu_millis),
          std::max(a.memory_bytes, b.memory_bytes), std::max(a.slots, b.slots)};
}

const std::string& NameAt(const NodeInventory& node, size_t level, size_t levels) {
  static const std::string* const kNowhere = new std::string;
  if (level == levels) return node.name;
  return level < node.domains.size() ? node.domains[level] : *kNowhere;
}

std::vector<const NodeInventory*> InPathOrder(const Inventory& inventory) {
  const size_t levels = inventory.levels.size();
  std::vector<const NodeInventory*> order;
  for (const NodeInventory& node : inventory.nodes) order.push_back(&node);
  std::sort(order.begin(), order.end(), [&](const auto* a, const auto* b) {
    for (size_t level = 0; level <= levels; ++level) {
      const int difference = NameAt(*a, level, levels).compare(NameAt(*b, level, levels));
      if (difference != 0) return difference < 0;
    }
    return false;
  });
  return order;
}

}  // namespace

TopologyTree::TopologyTree(const Inventory& inventory) {
  const size_t levels = inventory.levels.size();
  level_names_ = {""};
  level_names_.insert(level_names_.end(), inventory.levels.begin(), inventory.levels.end());
  level_names_.push_back(kHostLevel);
  levels_.resize(levels + 2);
  levels_[0].resize(1);
  const NodeInventory* previous = nullptr;
  const std::vector<const NodeInventory*> in_path_order = InPathOrder(inventory);
  for (const NodeInventory* node : in_path_order) {
    bool apart = previous == nullptr;
    for (size_t level = 0; level <= levels; ++level) {
      const std::string& name = NameAt(*node, level, levels);
      apart = apart || level == levels || name != NameAt(*previous, level, levels);
      if (apart) AppendDomain(static_cast<int>(level) + 1, name);
    }
    const Resources free = Sane(node->free);
    nodes_.push_back({free, Largest(free, Sane(node->allocatable)), node->schedulable});
    if (node->schedulable) AddUp(static_cast<int>(nodes_.size()) - 1, free, 1);
    previous = node;
  }
  NumberGpuProducts(in_path_order);
  NumberSpotPools(in_path_order);
  by_name_.resize(nodes_.size());
  std::iota(by_name_.begin(), by_name_.end(), 0);
  const std::vector<Domain>& hosts = levels_.back();
  std::stable_sort(by_name_.begin(), by_name_.end(),
                   [&](int a, int b) { return hosts[a].name < hosts[b].name; });
}

void TopologyTree::NumberGpuProducts(const std::vector<const NodeInventory*>& in_path_order) {
  std::map<std::string, int> numbers;
  for (size_t i = 0; i < nodes_.size(); ++i) {
    const bool has_gpus = nodes_[i].allocatable.gpus > 0;
    if (has_gpus) numbers.emplace(in_path_order[i]->gpu_product, 0);
    has_nodes_without_gpus_ = has_nodes_without_gpus_ || !has_gpus;
  }
  for (auto& [product, number] : numbers) {
    number = static_cast<int>(gpu_products_.size());
    gpu_products_.push_back(product);
  }
  for (size_t i = 0; i < nodes_.size(); ++i) {
    if (nodes_[i].allocatable.gpus <= 0) continue;
    nodes_[i].gpu_product = numbers.at(in_path_order[i]->gpu_product);
  }
}

void TopologyTree::NumberSpotPools(const std::vector<const NodeInventory*>& in_path_order) {
  std::map<std::string, int> numbers;
  for (const NodeInventory* node : in_path_order) {
    if (node->spot) numbers.emplace(node->spot_pool, 0);
  }
  for (auto& [pool, number] : numbers) {
    number = static_cast<int>(spot_pools_.size());
    spot_pools_.push_back(pool);
  }
  for (size_t i = 0; i < nodes_.size(); ++i) {
    if (in_path_order[i]->spot) nodes_[i].spot_pool = numbers.at(in_path_order[i]->spot_pool);
  }
}

void TopologyTree::AppendDomain(int level, const std::string& name) {
  const int parent = static_cast<int>(levels_[level - 1].size()) - 1;
  const int index = static_cast<int>(levels_[level].size());
  Domain& above = levels_[level - 1][parent];
  if (above.end_child == 0) above.first_child = index;
  above.end_child = index + 1;
  levels_[level].push_back({name, parent, 0, 0, {}});
}

std::optional<int> TopologyTree::FindLevel(const std::string& name) const {
  // Searches from the cluster's side, so that a level called "host" hides the nodes' own.
  const auto found = std::find(level_names_.begin() + 1, level_names_.end(), name);
  if (found == level_names_.end()) return std::nullopt;
  return static_cast<int>(found - level_names_.begin());
}

std::optional<int> TopologyTree::FindNode(const std::string& name) const {
  const std::vector<Domain>& hosts = levels_.back();
  const auto found =
      std::lower_bound(by_name_.begin(), by_name_.end(), name,
                       [&](int index, const std::string& n) { return hosts[index].name < n; });
  if (found == by_name_.end() || hosts[*found].name != name) return std::nullopt;
  return *found;
}

void TopologyTree::AddUp(int node, const Resources& amount, int sign) {
  int index = node;
  for (int level = node_level(); level >= 0; --level) {
    levels_[level][index].free += amount * sign;
    index = levels_[level][index].parent;
  }
}

void TopologyTree::Charge(int node, const Resources& amount) {
  const Resources before = nodes_[node].free;
  nodes_[node].free = Sane(before - amount);
  if (nodes_[node].schedulable) AddUp(node, before - nodes_[node].free, -1);
}

void TopologyTree::SetSchedulable(int node, bool schedulable) {
  if (nodes_[node].schedulable == schedulable) return;
  nodes_[node].schedulable = schedulable;
  AddUp(node, nodes_[node].free, schedulable ? 1 : -1);
}

std::string TopologyTree::PathOf(int level, int index) const {
  std::string path;
  for (; level > 0; --level) {
    const Domain& domain = levels_[level][index];
    if (!domain.name.empty()) path = path.empty() ? domain.name : domain.name + "/" + path;
    index = domain.parent;
  }
  return path;
}

int TopologyTree::AncestorOf(int node, int level) const {
  int index = node;
  for (int at = node_level(); at > level; --at) index = levels_[at][index].parent;
  return index;
}

int TopologyTree::SharedLevel(int a, int b) const {
  int level = node_level();
  for (; level > 0; --level) {
    if (a == b && !levels_[level][a].name.empty()) break;
    a = levels_[level][a].parent;
    b = levels_[level][b].parent;
  }
  return level;
}

}  // namespace muster::control
