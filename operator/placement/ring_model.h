#ifndef MUSTER_OPERATOR_PLACEMENT_RING_MODEL_H_
#define MUSTER_OPERATOR_PLACEMENT_RING_MODEL_H_

#include <map>
#include <string>
#include <vector>

#include "operator/placement/gang_capacity.h"
#include "operator/placement/topology_tree.h"

// Predicts the time of a gang's collectives on the nodes it has, by which placements are compared.
// A model, not a measurement; docs/placement.md has the formula and the sources of the defaults.
namespace muster::control {

// The connection of one worker to a neighbour at a level.
struct Link {
  double gigabytes_per_second = 0;  // one direction, > 0
  double latency_us = 0;            // one step of a ring
};

// The links by tree level; a level's link joins two workers whose innermost shared level it is.
using LinkTable = std::vector<Link>;

// Returns the links of the tree's levels: `overrides` (by level name; "" is the whole cluster)
// first, then the defaults by level name. Levels that are label keys count as what they stand for;
// one of unknown name is taken for the usual level after the next narrower one, at least a leaf.
LinkTable LinksOf(const TopologyTree& tree, const std::map<std::string, Link>& overrides);

// Seconds for an all-reduce of `bytes` on a ring of workers on these nodes, in the order given, if
// no other ring uses the links. 0 for fewer than two workers.
double RingSeconds(const TopologyTree& tree, const LinkTable& links, const int* nodes, int workers,
                   double bytes);

// Seconds of the slowest ring among those of the whole gang and of each of its slices, 1 GB each.
double SlowestRingSeconds(const TopologyTree& tree, const LinkTable& links,
                          const std::vector<int>& nodes, const std::vector<SliceAt>& slices);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_PLACEMENT_RING_MODEL_H_
