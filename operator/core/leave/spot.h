#ifndef MUSTER_OPERATOR_CORE_LEAVE_SPOT_H_
#define MUSTER_OPERATOR_CORE_LEAVE_SPOT_H_

#include <optional>

#include "operator/core/state/break.h"
#include "operator/core/state/draft.h"

// Leaves nodes that are about to be taken away before they go.
namespace muster::control {

// Policy: a worker whose node goes away (notices.h) leaves it in time, in the way that
// ChooseLeavePlan() chooses: once a checkpoint is written, or at its latest time, the next round
// goes on without it, and its pod is recreated elsewhere. If a round without it would be smaller
// than workers.min, its pod is recreated at once and the others wait for it. A notice that is
// withdrawn before the worker leaves is forgotten; a repeated notice with less time replaces the
// first. While a round is being formed after another failure, a worker that alone holds a part of
// the state waits for that round, up to its latest time. The status keeps the notices, so that a
// new leader continues with them. While it is not known whether the recorded round is still under
// way, a worker leaves only at its latest time.
void EvacuateNodes(Draft& draft);

// Runs as one of the last policies: settles the notices (notice_outcome.h), and records in
// status.workers.leaving the workers that leave first, at most 256. A new leader assumes the latest
// of their times for all others.
void KeepNotices(Draft& draft);

// Returns true if the worker has to leave its node, and may be in no new round.
bool IsLeaving(const RoundMemory& memory, const Worker& worker);

// Returns true if the worker leaves and no round needs it any more, so that its next incarnation
// may be created.
bool MayMoveAway(const Draft& draft, const Worker& worker);

// Records which members of the round that was just opened have to leave: they are in it only
// because no other worker has the job's state.
void NoteCarried(Draft& draft);

// Returns a Break with reason MembershipChanged if a member of the round under way leaves. A round
// that was opened with such a member is first formed, so that the others get its state.
std::optional<Break> FindLeaving(const Draft& draft);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_CORE_LEAVE_SPOT_H_
