#ifndef MUSTER_OPERATOR_CORE_SPOT_H_
#define MUSTER_OPERATOR_CORE_SPOT_H_

#include <optional>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "operator/core/break.h"
#include "operator/core/draft.h"
#include "operator/core/view.h"

// Nodes that are about to be taken away: their taints say so, and the job leaves before they go.
namespace muster::control {

// A taint that announces the end of a node, whoever puts it there.
struct NoticeTaint {
  absl::string_view key;
  absl::string_view value;  // empty: any
  // What is left at least when the taint appears.
  absl::Duration warning;
  absl::string_view who;
};

// Taints that only say what kind of node it is (a spot price), that it is cordoned, or that it is
// lost already, are none: nobody has to leave for the first two, and the last are evictions.
const std::vector<NoticeTaint>& NoticeTaints();

// The notice with the shortest warning among a node's taints, or null. Nothing new is to be bound
// to a node that has one, whatever it tolerates and the taint's effect: it would leave again.
const NoticeTaint* FindNotice(const std::vector<TaintView>& taints);

// For each worker whose node goes away: a checkpoint is asked for, and once it is written, or half
// of the warning is over, the worker leaves: the next round does without it, and its pod is made
// anew elsewhere. Where a round without it would be smaller than workers.min, its pod is made anew
// at once and the others hold for it. The status keeps what a notice began, so that a new leader
// goes on with it, and while it is not known yet whether the recorded round is still under way, a
// worker leaves at its latest time only.
void LeaveNodes(Draft& draft);

// Policy, one of the last: status.workers.leaving names those in the memory that leave first, at
// most 256. The next leader takes the latest of their times for all others.
void KeepNotices(Draft& draft);

// The worker has to leave, and is to be in no new round.
bool IsLeaving(const RoundMemory& memory, const Worker& worker);

// The worker leaves, and no round needs it any more: its next incarnation may be made.
bool MayMoveAway(const Draft& draft, const Worker& worker);

// A round under way with a member that leaves, as a Break with reason MembershipChanged.
std::optional<Break> FindLeaving(const Draft& draft);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_CORE_SPOT_H_
