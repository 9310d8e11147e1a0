#ifndef MUSTER_OPERATOR_CORE_LEAVE_SPOT_H_
#define MUSTER_OPERATOR_CORE_LEAVE_SPOT_H_

#include <optional>

#include "operator/core/state/break.h"
#include "operator/core/state/draft.h"

// Leaves nodes that are about to be taken away before they go.
namespace muster::control {

// Policy: a worker whose node goes away, as notices.h finds it, leaves it in time in the way that
// ChooseLeavePlan() chooses: once a checkpoint is written, or at its latest time, the next round
// goes without it, and its pod is recreated elsewhere. If a round without it would be smaller than
// workers.min, its pod is recreated at once and the others wait for it. A notice that is taken back
// before that is forgotten; one that comes again with less time replaces the first. While a round
// is being formed after another failure, a worker that alone holds a part of the state waits for
// it, up to its latest time. The status keeps the notices, so that a new leader continues with
// them. While it is not known whether the recorded round is still under way, a worker leaves only
// at its latest time.
void EvacuateNodes(Draft& draft);

// One of the last steps: settles the notices (notice_outcome.h), and lists in
// status.workers.leaving the workers in the memory that leave first, at most 256. The next leader
// takes the latest of their times for all others.
void KeepNotices(Draft& draft);

// Returns true if the worker has to leave, and is to be in no new round.
bool IsLeaving(const RoundMemory& memory, const Worker& worker);

// Returns true if the worker leaves and no round needs it any more: its next incarnation may be
// made.
bool MayMoveAway(const Draft& draft, const Worker& worker);

// Notes the members of the round that was just opened that leave: they are in it only because
// nobody else has the job's state.
void NoteCarried(Draft& draft);

// Returns a Break with reason MembershipChanged if a member of the round under way leaves. A round
// that was opened with such a member is first formed, so that the others get its state.
std::optional<Break> FindLeaving(const Draft& draft);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_CORE_LEAVE_SPOT_H_
