#ifndef MUSTER_OPERATOR_PLACEMENT_GANG_SPLIT_H_
#define MUSTER_OPERATOR_PLACEMENT_GANG_SPLIT_H_

#include <cstdint>
#include <vector>

#include "operator/placement/gang_capacity.h"
#include "operator/placement/pool_use.h"
#include "operator/placement/topology_tree.h"

namespace muster::control {

// A domain and how many workers of the gang go there.
struct DomainShare {
  int level = 0;
  int index = -1;  // -1: nowhere
  int64_t workers = 0;
};

// Splits the share over the domain's nodes, slices kept whole, level by level into few children:
// the smallest that takes all that is left, otherwise the largest. The nodes at the end are as few
// as possible, with numbers as equal as their room allows; of those that suffice, the ones with
// least room and fewest GPUs left over. The domain must have room for the share. Returns one node
// for each worker, in the tree's order.
//
// With `pools` all nodes of the domain that count are spot nodes: of those that suffice the nodes
// are taken whose pools have fewest workers by then, before those with least room, and the workers
// are added to `pools`.
std::vector<int> SplitOverNodes(const TopologyTree& tree, const GangCapacity& capacity,
                                const DomainShare& share, PoolUse* pools = nullptr);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_PLACEMENT_GANG_SPLIT_H_
