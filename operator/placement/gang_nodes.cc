#include "operator/placement/gang_nodes.h"

namespace muster::control {

GatedTree::GatedTree(TopologyTree& tree, const GangNodes* nodes, const Resources& per_worker)
    : tree_(tree) {
  if (nodes == nullptr) return;
  for (int node : nodes->closed) {
    if (!tree.node(node).schedulable) continue;
    tree.SetSchedulable(node, false);
    closed_.push_back(node);
  }
  for (const GangNodes::Bound& bound : nodes->bounds) {
    const int64_t taken = tree.node(bound.node).free.slots - bound.workers * per_worker.slots;
    if (taken <= 0 || per_worker.slots <= 0) continue;
    tree.Charge(bound.node, {0, 0, 0, taken});
    charged_.push_back({bound.node, taken});
  }
}

void GatedTree::Open() {
  for (const Charged& charged : charged_) tree_.Charge(charged.node, {0, 0, 0, -charged.slots});
  for (int node : closed_) tree_.SetSchedulable(node, true);
  charged_.clear();
  closed_.clear();
}

}  // namespace muster::control
