#ifndef MUSTER_OPERATOR_CORE_LEAVE_MOVE_H_
#define MUSTER_OPERATOR_CORE_LEAVE_MOVE_H_

#include <string>

#include "absl/strings/string_view.h"
#include "operator/core/state/draft.h"

// Moves workers off nodes that serve this job badly. The nodes themselves stay.
namespace muster::control {

// Makes the worker leave its node as if the node went away (spot.h); its next pods avoid that node.
// The worker must have a pod with a node.
void MoveAway(Draft& draft, const Worker& worker, absl::string_view why);

// Returns the reason why this incarnation of the worker has to leave; empty if it need not.
std::string WhyMoves(const RoundMemory& memory, const Worker& worker);

// Returns the node that the worker's next pod avoids; empty if it may go to any node.
std::string AvoidedNode(const RoundMemory& memory, int index);

// Restores, once per leadership, which nodes the job has left, from the affinity that keeps its
// pods off them.
void RestoreMoves(Draft& draft);

// Gives up avoiding a node if the worker's pod has found no other one for a minute, and returns
// true: its next incarnation may be made.
bool GivesUpAvoiding(Draft& draft, const Worker& worker);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_CORE_LEAVE_MOVE_H_
