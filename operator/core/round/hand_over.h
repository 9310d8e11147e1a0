#ifndef MUSTER_OPERATOR_CORE_ROUND_HAND_OVER_H_
#define MUSTER_OPERATOR_CORE_ROUND_HAND_OVER_H_

#include "operator/core/state/draft.h"

namespace muster::control {

// Policy: a change of members that is wanted, and not forced, waits for a checkpoint where it would
// take steps back, but for two minutes at most:
// - where ranks divide the state, and workers leave with slices of it that no other has;
// - where the job brings its own command, whose processes all end for it. Only a command that has
//   reported a checkpoint is asked for one (agent/client).
void SaveBeforeMembersChange(Draft& draft);

// Returns true if the round under way may be broken for other members.
bool MayChangeMembersNow(const Draft& draft);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_CORE_ROUND_HAND_OVER_H_
