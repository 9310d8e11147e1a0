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

// Returns, for each domain of the newcomer's level that could hold it if every candidate were
// stopped, a cost below which no set of stopped candidates makes it fit there; cheapest first. Each
// job's cost is spread over what it frees; the cheapest workers' worth on each node counts, node by
// node, and what the quota lacks likewise. O(candidates' workers + nodes).
std::vector<DomainBound> BoundDomains(const TopologyTree& tree, VictimTrial& trial);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_QUEUE_ROOM_VICTIM_BOUND_H_
