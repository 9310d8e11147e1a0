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
  // The whole gang's request, in which min counts the workers that have nodes.
  GangRequest request;
  std::map<int, std::string> placed;  // worker -> node
  std::vector<int> missing;           // workers, rising; none of them is in `placed`
};

struct Completion {
  std::map<int, std::string> nodes;  // by missing worker; an elastic gang may leave some out
  Placement gang;                    // all workers that have nodes then, in order
};

// Places the missing workers where the rest are: within the domains that the required level and the
// slices prescribe, and from the preferred level outwards as near to the rest as there is room. If
// no worker has a node, this is Place. The tree is unchanged when it returns. Pure.
std::variant<Completion, Unplaceable> CompleteGang(TopologyTree& tree, const PartialGang& gang,
                                                   const std::map<std::string, Link>& links = {});

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_PLACEMENT_COMPLETE_GANG_H_
