#ifndef MUSTER_OPERATOR_QUEUE_ROOM_VICTIM_BOUND_H_
#define MUSTER_OPERATOR_QUEUE_ROOM_VICTIM_BOUND_H_

#include <vector>

#include "operator/placement/topology_tree.h"
#include "operator/queue/room/victim_trial.h"

namespace muster::control {

// A domain in which the newcomer could fit, and a lower bound on the cost of victims there.
struct DomainBound {
  int domain = 0;
  double cost = 0;
};

// Returns the domains of the newcomer's level in which it could fit if every candidate were
// stopped, each with a lower bound on the cost of stopping enough of them; cheapest first. The
// bound spreads each job's cost evenly over what it frees in the domain, and adds up the cheapest
// room for the missing workers, node by node. It is at least the cost of the missing quota, which
// is bounded in the same way. O(candidates' workers + nodes).
std::vector<DomainBound> BoundDomains(const TopologyTree& tree, VictimTrial& trial);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_QUEUE_ROOM_VICTIM_BOUND_H_
