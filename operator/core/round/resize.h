#ifndef MUSTER_OPERATOR_CORE_ROUND_RESIZE_H_
#define MUSTER_OPERATOR_CORE_ROUND_RESIZE_H_

#include "operator/core/state/draft.h"

namespace muster::control {

// The record of resizes, status.resize. NoteRoundEnded() is called when an Active round breaks,
// NoteRoundBegan() when a round becomes Active: if it has another number of workers than the last
// one, it is recorded with the pause between the two, and growth is snoozed.
void NoteRoundEnded(Draft& draft);
void NoteRoundBegan(Draft& draft);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_CORE_ROUND_RESIZE_H_
