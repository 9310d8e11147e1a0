#ifndef MUSTER_OPERATOR_CORE_SAVES_REPLICA_RING_H_
#define MUSTER_OPERATOR_CORE_SAVES_REPLICA_RING_H_

#include <map>
#include <string>
#include <vector>

// Policy: chooses the worker that keeps the replica of each worker's copies. Every worker keeps the
// replica of exactly one other, so that memory and traffic are the same everywhere. The keeper is
// on another node if possible, then in another domain, narrow levels first: a node fails more often
// than a rack, and a rack more often than a zone. Pure.
namespace muster::control {

struct ReplicaPlace {
  int index = 0;  // of the worker
  std::string node;
  std::vector<std::string> domains;  // of the node, broad to narrow
};

// Returns the keeper of each worker's replica, by index; empty for fewer than two workers. Sorts
// the workers by their domains into a ring; each keeper is the same number of places further on.
// That number is chosen so that the fewest pairs share a node, then the narrowest domain, and so
// on. The order of `places` does not matter.
std::map<int, int> ReplicaRing(std::vector<ReplicaPlace> places);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_CORE_SAVES_REPLICA_RING_H_
