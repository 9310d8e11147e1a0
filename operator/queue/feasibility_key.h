#ifndef MUSTER_OPERATOR_QUEUE_FEASIBILITY_KEY_H_
#define MUSTER_OPERATOR_QUEUE_FEASIBILITY_KEY_H_

#include <string>

#include "operator/placement/placement.h"

namespace muster::control {

// Returns equal keys for requests that have a place on the same nodes, or none: the key covers
// everything but the job's name and the level that it prefers.
std::string FeasibilityKey(const GangRequest& request);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_QUEUE_FEASIBILITY_KEY_H_
