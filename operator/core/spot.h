#ifndef MUSTER_OPERATOR_CORE_SPOT_H_
#define MUSTER_OPERATOR_CORE_SPOT_H_

#include <optional>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "operator/core/break.h"
#include "operator/core/draft.h"
#include "operator/core/view.h"

// Leaves nodes that are about to be taken away, as their taints announce, before they go.
namespace muster::control {

// A taint that announces the end of a node, whichever program sets it.
struct NoticeTaint {
  absl::string_view key;
  absl::string_view value;  // empty: any
  // The time that is left at least when the taint appears.
  absl::Duration warning;
  absl::string_view who;
};

// Returns all notice taints. Taints that only state the node's kind (a spot price), that it is
// cordoned, or that it is lost already are not among them: nobody has to leave for the first two,
// and the last are evictions.
const std::vector<NoticeTaint>& NoticeTaints();

// Returns the notice with the shortest warning among a node's taints, or null. Nothing new is to be
// bound to a node that has one, whatever the pod tolerates and the taint's effect is, because it
// would have to leave again.
const NoticeTaint* FindNotice(const std::vector<TaintView>& taints);

// Policy: requests a checkpoint for each worker whose node goes away. Once it is written, or half
// of the warning is over, the worker leaves: the next round goes without it, and its pod is
// recreated elsewhere. If a round without it would be smaller than workers.min, its pod is
// recreated at once and the others wait for it. The status keeps the notices, so that a new leader
// continues with them. While it is not known whether the recorded round is still under way, a
// worker leaves only at its latest time.
void EvacuateNodes(Draft& draft);

// One of the last steps: lists in status.workers.leaving the workers in the memory that leave
// first, at most 256. The next leader takes the latest of their times for all others.
void KeepNotices(Draft& draft);

// Returns true if the worker has to leave, and is to be in no new round.
bool IsLeaving(const RoundMemory& memory, const Worker& worker);

// Returns true if the worker leaves and no round needs it any more: its next incarnation may be
// made.
bool MayMoveAway(const Draft& draft, const Worker& worker);

// Returns a Break with reason MembershipChanged if a member of the round under way leaves.
std::optional<Break> FindLeaving(const Draft& draft);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_CORE_SPOT_H_
