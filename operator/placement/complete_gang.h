#ifndef MUSTER_OPERATOR_PLACEMENT_COMPLETE_GANG_H_
#define MUSTER_OPERATOR_PLACEMENT_COMPLETE_GANG_H_

#include <map>
#include <string>
#include <variant>
#include <vector>

#include "operator/placement/placement.h"
#include "operator/placement/topology_tree.h"

namespace muster::control {

// A gang some of whose workers have nodes already: a lost one is replaced, an elastic job grows.
struct PartialGang {
  // Of the whole gang; min counts the workers that have nodes.
  GangRequest request;
  std::map<int, std::string> placed;  // worker -> node
  std::vector<int> missing;           // workers, rising; none of them is in `placed`
};

struct Completion {
  std::map<int, std::string> nodes;  // of the missing workers; an elastic gang may leave some out
  Placement gang;                    // of all that have nodes then, in the order of the workers
};

// Places what is missing where the rest is: within the required level's domain and the slices'
// domains of the others, and from the preferred level outwards as near to them as there is room.
// Without any that has a node it is Place. The tree is as before when it returns. Pure.
std::variant<Completion, Unplaceable> CompleteGang(TopologyTree& tree, const PartialGang& gang,
                                                   const std::map<std::string, Link>& links = {});

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_PLACEMENT_COMPLETE_GANG_H_
