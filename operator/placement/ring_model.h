#ifndef MUSTER_OPERATOR_PLACEMENT_RING_MODEL_H_
#define MUSTER_OPERATOR_PLACEMENT_RING_MODEL_H_

#include <map>
#include <string>
#include <vector>

#include "operator/placement/gang_capacity.h"
#include "operator/placement/topology_tree.h"

// How long a gang's collectives take on the nodes it has: the measure that placements are compared
// by. A model, not a measurement; docs/placement.md has the formula and where the defaults are
// from.
namespace muster::control {

// What one worker sends to a neighbour at a level.
struct Link {
  double gigabytes_per_second = 0;  // one direction, > 0
  double latency_us = 0;            // one step of a ring
};

// By tree level: the link between two workers whose innermost shared level it is.
using LinkTable = std::vector<Link>;

// The defaults for the tree's levels by their names, `overrides` (by level name; "" is the whole
// cluster) in front. Levels that are label keys count as what they stand for. A level of
// unknown name is taken for the one that usually follows the next narrower one, at least a leaf.
LinkTable LinksOf(const TopologyTree& tree, const std::map<std::string, Link>& overrides);

// An all-reduce of `bytes` on a ring of workers on these nodes, in the order given, each link in
// use by this ring alone. 0 for fewer than two workers.
double RingSeconds(const TopologyTree& tree, const LinkTable& links, const int* nodes, int workers,
                   double bytes);

// The slowest of the rings of the whole gang and of each of its slices, 1 GB each.
double SlowestRingSeconds(const TopologyTree& tree, const LinkTable& links,
                          const std::vector<int>& nodes, const std::vector<SliceAt>& slices);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_PLACEMENT_RING_MODEL_H_
