#ifndef MUSTER_OPERATOR_PLACEMENT_FILTER_FILTER_MEMO_H_
#define MUSTER_OPERATOR_PLACEMENT_FILTER_FILTER_MEMO_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "operator/placement/cluster/cluster_snapshot.h"
#include "operator/placement/cluster/scheduling_pod.h"
#include "operator/placement/filter/node_filter.h"
#include "operator/placement/filter/node_verdicts.h"
#include "operator/placement/gang_nodes.h"
#include "operator/placement/topology_tree.h"

namespace muster::control {

// Returns a key of everything in a pod that decides about a node by itself: equal for pods of one
// template. Labels and namespace are left out: only rules that look beyond a node read them.
std::string TemplateKey(const SchedulingPod& pod);

// Nodes for a pod, and for pods like it.
struct FilteredNodes {
  // Never null. The same object as before if nothing has changed.
  std::shared_ptr<const GangNodes> nodes;
  bool node_local = true;  // NodeFilter::node_local
};

// Remembers a filter's verdict on a node for as long as the node is unchanged, template by
// template, so that only the changed nodes of a large cluster are asked again. Keeps the templates
// that were asked for last. Not thread-safe.
class FilterMemo {
 public:
  explicit FilterMemo(size_t templates = 16) : most_(templates) {}

  // `states` are the nodes of the snapshot by index of the tree. Shortages that the tree sees
  // itself, of CPU, memory, GPUs or slots, are left to the tree.
  FilteredNodes NodesFor(const SchedulingPod& pod, const ClusterSnapshot& snapshot,
                         const TopologyTree& tree, const std::vector<NodePointer>& states,
                         const FilterOptions& options = {});
  // The number of times that a filter was asked about a node.
  int64_t asked() const { return asked_; }

 private:
  struct Known {
    std::vector<NodeVerdict> verdicts;
    std::shared_ptr<const GangNodes> nodes;  // null: to be made anew
    uint64_t used = 0;
  };
  Known& Remembered(const std::string& key);
  void Ask(const NodeFilter& filter, const std::vector<NodePointer>& states, Known& known);

  const size_t most_;
  std::map<std::string, Known> known_;  // by TemplateKey
  uint64_t uses_ = 0;
  int64_t asked_ = 0;
};

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_PLACEMENT_FILTER_FILTER_MEMO_H_
