#ifndef MUSTER_OPERATOR_CORE_SAVES_REPLICA_RING_H_
#define MUSTER_OPERATOR_CORE_SAVES_REPLICA_RING_H_

#include <map>
#include <string>
#include <vector>

// Policy: which worker keeps the replica of which other's copies. Each keeps those of exactly one,
// so that memory and traffic are the same everywhere, on another node where there is one, and then
// in another domain, the narrow levels first: a node fails more often than a rack, and a rack more
// often than a zone. Pure.
namespace muster::control {

struct ReplicaPlace {
  int index = 0;  // of the worker
  std::string node;
  std::vector<std::string> domains;  // of the node, broad to narrow
};

// Returns the keeper of each worker's replica, by index; empty for fewer than two workers. The
// workers are put in the order of their domains, and each is kept by the one so many places further
// on that fewest pairs share a node, then the narrowest domain, and so on. The order of `places`
// does not matter.
std::map<int, int> ReplicaRing(std::vector<ReplicaPlace> places);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_CORE_SAVES_REPLICA_RING_H_
