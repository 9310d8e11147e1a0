#ifndef MUSTER_OPERATOR_PLACEMENT_COMPLETE_GANG_H_
#define MUSTER_OPERATOR_PLACEMENT_COMPLETE_GANG_H_

#include <map>
#include <set>
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
  // Workers that need no node any more; none of them is in `placed` or `missing`. A slice keeps
  // room for them as long as other members are missing, because placement counts whole slices.
  std::set<int> ended;
};

// Returns the gang's request with the places counted that its slices keep for ended members: what
// Place finds room for if no worker has a node.
GangRequest RequestInWholeSlices(const PartialGang& gang);

struct Completion {
  std::map<int, std::string> nodes;  // by missing worker; an elastic gang may leave some out
  Placement gang;                    // all workers that have nodes then, in order
};

// Places the missing workers where the rest are: within the domains that the required level and the
// slices prescribe, and from the preferred level outwards as near to the rest as there is room. If
// no worker has a node, this is Place with RequestInWholeSlices. The tree is unchanged when it
// returns. Pure.
std::variant<Completion, Unplaceable> CompleteGang(TopologyTree& tree, const PartialGang& gang,
                                                   const std::map<std::string, Link>& links = {});

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_PLACEMENT_COMPLETE_GANG_H_
