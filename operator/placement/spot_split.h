#ifndef MUSTER_OPERATOR_PLACEMENT_SPOT_SPLIT_H_
#define MUSTER_OPERATOR_PLACEMENT_SPOT_SPLIT_H_

#include <vector>

#include "operator/placement/gang_capacity.h"
#include "operator/placement/gang_split.h"
#include "operator/placement/inventory.h"
#include "operator/placement/spot_bounds.h"
#include "operator/placement/topology_tree.h"

namespace muster::control {

// Splits the share over the domain's nodes as SplitOverNodes does, the workers on spot nodes and
// the others apart, and as many on spot nodes as the limit and whole slices let. Returns one node
// for each worker: the first slices, and the first workers of each, are on other nodes than spot
// nodes, so that the gang keeps to its bounds when its last workers leave; otherwise they are in
// the tree's order. `capacity` is made with the limit, and the share keeps to it.
std::vector<int> SplitBySpot(const TopologyTree& tree, const GangCapacity& capacity,
                             const Resources& per_worker, const SpotLimit& limit,
                             const DomainShare& share);

// Returns the pools of the domain that have room for a worker.
int PoolsWithRoom(const TopologyTree& tree, const GangCapacity& capacity, int level, int index);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_PLACEMENT_SPOT_SPLIT_H_
