#ifndef MUSTER_OPERATOR_CORE_ROUND_SWAP_H_
#define MUSTER_OPERATOR_CORE_ROUND_SWAP_H_

#include <vector>

#include "operator/core/round/seats.h"
#include "operator/core/state/draft.h"

namespace muster::control {

// The record of swaps, status.swap. NoteSeats() is called when a round is opened, before its
// members are set: it remembers where they are, and which of them take over whose ranks.
// NoteSwapped() is called when a round becomes Active, before NoteRoundBegan() (resize.h) takes the
// end of the round before.
void NoteSeats(Draft& draft, const std::vector<Seat>& seats);
void NoteSwapped(Draft& draft);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_CORE_ROUND_SWAP_H_
