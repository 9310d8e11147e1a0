#ifndef MUSTER_OPERATOR_PLACEMENT_TOPOLOGY_TREE_H_
#define MUSTER_OPERATOR_PLACEMENT_TOPOLOGY_TREE_H_

#include <optional>
#include <string>
#include <vector>

#include "operator/placement/inventory.h"

namespace muster::control {

// The level of single nodes, below every level of the inventory that has no level of this name.
inline constexpr char kHostLevel[] = "host";

// An inventory as a tree: level 0 is the whole cluster, then the inventory's levels, broad to
// narrow, and last the nodes. The free amounts of each domain are kept up to date: a change of one
// node costs O(depth). Domains of a level are in path order and the children of a domain lie side
// by side, so a walk from left to right is the order in which ranks are numbered. A node that is in
// no domain of a level stands there in one without a name, which counts as none. Equal inventories
// give equal trees, whatever the order of their nodes. Not thread-safe.
class TopologyTree {
 public:
  struct Domain {
    std::string name;  // empty: not a domain of the level, only a place in the tree
    int parent = -1;   // index at the next broader level
    int first_child = 0;
    int end_child = 0;
    Resources free;  // of the schedulable nodes below
  };
  struct Node {
    Resources free;
    Resources allocatable;
    bool schedulable = true;
    int gpu_product = kNoGpus;  // index in gpu_products(), or kNoGpus
    int spot_pool = kNoSpot;    // index in spot_pools(), or kNoSpot

    bool is_spot() const { return spot_pool != kNoSpot; }
  };
  static constexpr int kNoGpus = -1;
  static constexpr int kNoSpot = -1;

  explicit TopologyTree(const Inventory& inventory);

  // Levels including the cluster and the nodes: >= 2.
  int depth() const { return static_cast<int>(levels_.size()); }
  int node_level() const { return depth() - 1; }
  const std::vector<Domain>& level(int level) const { return levels_[level]; }
  const Node& node(int index) const { return nodes_[index]; }
  // The products of the nodes that have GPUs, sorted; "" stands for an unknown one.
  const std::vector<std::string>& gpu_products() const { return gpu_products_; }
  bool has_nodes_without_gpus() const { return has_nodes_without_gpus_; }
  // The pools of the spot nodes, sorted. Empty: there are no spot nodes.
  const std::vector<std::string>& spot_pools() const { return spot_pools_; }
  // "" for the cluster.
  const std::string& level_name(int level) const { return level_names_[level]; }
  std::optional<int> FindLevel(const std::string& name) const;
  std::optional<int> FindNode(const std::string& name) const;

  // Takes the amount from a node, or gives it back if negative. O(depth).
  void Charge(int node, const Resources& amount);
  void SetSchedulable(int node, bool schedulable);

  // Names from the broadest level down to the domain, joined by "/"; unnamed domains are left out.
  std::string PathOf(int level, int index) const;
  // The index of the domain at `level` that holds `node`.
  int AncestorOf(int node, int level) const;
  // The innermost level at which two nodes share a domain with a name; 0 if they share none.
  int SharedLevel(int a, int b) const;

 private:
  // Appends it to the last domain of the level above.
  void AppendDomain(int level, const std::string& name);
  void AddUp(int node, const Resources& amount, int sign);
  void NumberGpuProducts(const std::vector<const NodeInventory*>& in_path_order);
  void NumberSpotPools(const std::vector<const NodeInventory*>& in_path_order);

  std::vector<std::vector<Domain>> levels_;
  std::vector<std::string> level_names_;
  std::vector<Node> nodes_;
  std::vector<std::string> gpu_products_;
  bool has_nodes_without_gpus_ = false;
  std::vector<std::string> spot_pools_;
  std::vector<int> by_name_;  // node indices in the order of their names
};

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_PLACEMENT_TOPOLOGY_TREE_H_
