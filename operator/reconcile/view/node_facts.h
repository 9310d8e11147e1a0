#ifndef MUSTER_OPERATOR_RECONCILE_VIEW_NODE_FACTS_H_
#define MUSTER_OPERATOR_RECONCILE_VIEW_NODE_FACTS_H_

#include <vector>

#include "operator/coordinator/node_board.h"
#include "operator/core/state/view.h"
#include "operator/cost/price_table.h"
#include "operator/objects/caches.h"
#include "operator/placement/topology_labels.h"

// Completes the view of a job with what is known of the nodes that its pods are on. Thread-safe.
namespace muster::control {

struct NodeSources {
  const NodeCache* nodes = nullptr;    // null: nothing is known of nodes
  const NodeBoard* power = nullptr;    // null: no power of GPUs is measured
  const PriceTable* prices = nullptr;  // null: only nodes themselves name prices
};

// Fills the state, the faults and the rates of the node of one pod. A node that is gone is treated
// like one that has stopped reporting.
void NoteNode(const NodeSources& sources, const PodRecord& record, PodView& pod);

// Fills the network domains of the pods' nodes, if the job needs them: its copies have replicas.
void NoteNodeDomains(const NodeSources& sources, JobView& view);

// Sets the network domains of the pods' nodes, as the labels of `nodes`, each named once, say.
// Pure.
void NoteDomains(const std::vector<LabelledNode>& nodes, std::vector<PodView>& pods);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_RECONCILE_VIEW_NODE_FACTS_H_
