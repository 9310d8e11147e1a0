#ifndef MUSTER_OPERATOR_CORE_LEAVE_MOVE_H_
#define MUSTER_OPERATOR_CORE_LEAVE_MOVE_H_

#include <string>

#include "absl/strings/string_view.h"
#include "operator/core/state/draft.h"

// Workers that leave a node because of how it treats this job; nobody takes the node away.
namespace muster::control {

// Makes the worker leave its node as one that goes away (spot.h); its next pods avoid it. The
// worker must have a pod with a node.
void MoveAway(Draft& draft, const Worker& worker, absl::string_view why);

// Returns the reason for which this incarnation of the worker is to leave; empty if it is not.
std::string WhyMoves(const RoundMemory& memory, const Worker& worker);

// Returns the node that the worker's next pod avoids; empty if there is none.
std::string AvoidedNode(const RoundMemory& memory, int index);

// Restores, once in a leadership, which nodes the job has left: its pods are kept off them.
void RestoreMoves(Draft& draft);

// Gives up avoiding a node if the worker's pod has found no other one for a minute, and returns
// true: its next incarnation may be made.
bool GivesUpAvoiding(Draft& draft, const Worker& worker);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_CORE_LEAVE_MOVE_H_
