#ifndef MUSTER_OPERATOR_PLACEMENT_POOL_USE_H_
#define MUSTER_OPERATOR_PLACEMENT_POOL_USE_H_

#include <cstdint>
#include <map>

namespace muster::control {

// The workers of a gang by the spot pool (TopologyTree::spot_pools()) that they are in so far.
using PoolUse = std::map<int, int64_t>;

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_PLACEMENT_POOL_USE_H_
