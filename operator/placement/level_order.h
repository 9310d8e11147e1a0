#ifndef MUSTER_OPERATOR_PLACEMENT_LEVEL_ORDER_H_
#define MUSTER_OPERATOR_PLACEMENT_LEVEL_ORDER_H_

#include <cstddef>
#include <vector>

#include "operator/placement/topology_labels.h"

namespace muster::control {

// Orders NVLink levels by the nodes. An NVLink domain may be narrower than a leaf (a rack of a leaf
// group) or broader (a rack with a switch for each half), and no label says which. Moves each of
// the levels `nvlink` (indices into topology.levels, rising) above its neighbours whose domains
// each lie within one of its own, and below those that hold each of its own within one domain. If
// neither nests in the other, or both do, the order stays. Nodes without a domain at one of the two
// levels do not count, and the levels of `nvlink` keep their order among themselves.
void OrderLevels(std::vector<size_t> nvlink, Topology& topology);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_PLACEMENT_LEVEL_ORDER_H_
