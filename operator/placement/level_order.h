#ifndef MUSTER_OPERATOR_PLACEMENT_LEVEL_ORDER_H_
#define MUSTER_OPERATOR_PLACEMENT_LEVEL_ORDER_H_

#include <cstddef>
#include <vector>

#include "operator/placement/topology_labels.h"

namespace muster::control {

// An NVLink domain may be narrower than a leaf (a rack of a leaf group) or broader (a rack with a
// switch for each half), and no label says which. Moves each of the levels `nvlink` (indices into
// topology.levels, rising) above its neighbours of which every domain lies within one of its own,
// and below those within one domain of which each of its own lies. Where neither nests in the
// other, or both do, the order stays. Nodes that are nowhere at one of the two do not count, and
// the levels of `nvlink` keep their order among themselves.
void OrderLevels(std::vector<size_t> nvlink, Topology& topology);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_PLACEMENT_LEVEL_ORDER_H_
