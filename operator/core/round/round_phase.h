#ifndef MUSTER_OPERATOR_CORE_ROUND_ROUND_PHASE_H_
#define MUSTER_OPERATOR_CORE_ROUND_ROUND_PHASE_H_

#include <vector>

#include "operator/core/round/seats.h"
#include "operator/core/state/conditions.h"
#include "operator/core/state/draft.h"
#include "operator/core/state/round_memory.h"
#include "operator/core/state/round_transition.h"

// The steps by which a draft's round goes from one phase to the next, whichever policy takes them,
// and what is noted then: status.resize, status.swap and status.resume.
namespace muster::control {

// Moves the round by the transition table and notes the time.
void MoveRound(Draft& draft, RoundEvent event);

// Called when a round is opened, before its members are set: notes where they are, and which of
// them take over whose ranks.
void NoteSeats(Draft& draft, const std::vector<Seat>& seats);

// Called when an Active round breaks: notes the time.
void NoteRoundEnded(Draft& draft);

// Makes the round Active by `event`: forgets what belonged to its forming, notes where it stands,
// and tells it with `reason`.
void BecomeActive(Draft& draft, RoundEvent event, Reason reason);

// Notes that the round's members hold the newest state.
void NoteHolders(Draft& draft);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_CORE_ROUND_ROUND_PHASE_H_
