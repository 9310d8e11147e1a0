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

// Nodes of which a gang may have any, as far as its pods have to be together.
struct GangDomain {
  std::vector<int> nodes;  // those with room, rising
  int64_t room = 0;        // for at most so many of its workers, however they lie
};

struct GangDomains {
  // Labels by whose values the pods want to be together; empty: none.
  std::vector<std::string> labels;
  // The most workers first, as far as the gang asks for them, and of equal ones the tightest.
  std::vector<GangDomain> domains;
};

// The cluster in parts, each of one domain of the required level (unless those who have nodes have
// settled it) and one value of each label of the gang's own affinity. Nothing that fits lies across
// two of them.
// `filtered` is what the world says of the pod.
GangDomains DomainsFor(const PlacementWorld& world, const PartialGang& gang,
                       const SchedulingPod& pod, const FilteredNodes& filtered);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_SCHEDULER_GANG_GANG_DOMAINS_H_
