#ifndef MUSTER_OPERATOR_PLACEMENT_GANG_CHOICE_H_
#define MUSTER_OPERATOR_PLACEMENT_GANG_CHOICE_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "operator/placement/gang_capacity.h"
#include "operator/placement/gang_split.h"
#include "operator/placement/inventory.h"
#include "operator/placement/spot_bounds.h"
#include "operator/placement/topology_tree.h"

// Chooses the domain of a gang, and its nodes there. Pure and deterministic.
namespace muster::control {

// A request in terms of the tree. Level 0, the whole cluster, stands for no level.
struct GangPlan {
  Resources per_worker;
  int required = 0;
  int preferred = 0;  // not broader than `required`
  std::vector<SliceAt> slices;
  // The workers that may be on spot nodes; nothing: placement makes no difference.
  std::optional<SpotLimit> spot;

  const SpotLimit* spot_limit() const { return spot ? &*spot : nullptr; }
};

// The largest gang up to `most` within one domain of the required level, and that domain.
DomainShare LargestGang(const TopologyTree& tree, const GangCapacity& capacity,
                        const GangPlan& plan, int64_t most);

// Returns the nodes of a gang of exactly `size`, one for each worker in the tree's order; empty if
// it does not fit. Takes the first level, from the preferred one outwards, that has a domain with
// room, and there the tightest domain.
std::vector<int> NodesForGang(const TopologyTree& tree, const GangCapacity& capacity,
                              const GangPlan& plan, int64_t size);

// The same on current free amounts (`now` counts all nodes), but prefers, at that level, a domain
// where the gang gets nodes of one GPU product or, if it needs no GPUs, nodes without any.
std::vector<int> AlikeNodesForGang(const TopologyTree& tree, const GangCapacity& now,
                                   const GangPlan& plan, int64_t size);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_PLACEMENT_GANG_CHOICE_H_
