#ifndef MUSTER_OPERATOR_RECONCILE_VIEW_NODE_DOMAINS_H_
#define MUSTER_OPERATOR_RECONCILE_VIEW_NODE_DOMAINS_H_

#include <vector>

#include "operator/core/state/view.h"
#include "operator/placement/topology_labels.h"

namespace muster::control {

// Sets the network domains of the pods' nodes, as the labels of `nodes`, each named once, say.
// Pure.
void NoteDomains(const std::vector<LabelledNode>& nodes, std::vector<PodView>& pods);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_RECONCILE_VIEW_NODE_DOMAINS_H_
