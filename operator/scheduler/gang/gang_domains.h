#ifndef MUSTER_OPERATOR_SCHEDULER_GANG_GANG_DOMAINS_H_
#define MUSTER_OPERATOR_SCHEDULER_GANG_GANG_DOMAINS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "operator/placement/cluster/scheduling_pod.h"
#include "operator/placement/complete_gang.h"
#include "operator/placement/filter/filter_memo.h"
#include "operator/scheduler/cluster/placement_world.h"

namespace muster::control {

// A set of nodes on which a gang can be placed in any way without breaking its rules about being
// together.
struct GangDomain {
  std::vector<int> nodes;  // indices of nodes with room, rising
  int64_t room = 0;        // upper bound on its workers that fit here
};

struct GangDomains {
  // Labels whose values all pods of the gang want to share; may be empty.
  std::vector<std::string> labels;
  // Sorted by room for the gang's workers, the most first, then the tightest first.
  std::vector<GangDomain> domains;
};

// Divides the cluster into parts, each within one domain of the required level (unless members that
// have nodes have settled it) and one value of each label of the gang's own affinity. No valid
// placement spans two parts. `filtered` is the world's NodesFor(pod).
GangDomains DomainsFor(const PlacementWorld& world, const PartialGang& gang,
                       const SchedulingPod& pod, const FilteredNodes& filtered);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_SCHEDULER_GANG_GANG_DOMAINS_H_
