#ifndef MUSTER_OPERATOR_CORE_ROUND_ROUND_ADOPTION_H_
#define MUSTER_OPERATOR_CORE_ROUND_ROUND_ADOPTION_H_

#include "operator/core/state/draft.h"

namespace muster::control {

// After a take-over, adopts the round that the status records if its members still step in it: as
// Active when it is whole, as broken when a part of it lives. Returns true, with a reason and a
// time to look again, while agents that may be in it have not told: no round may be opened then.
// Does nothing once this leadership has a round.
bool AdoptOrWait(Draft& draft);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_CORE_ROUND_ROUND_ADOPTION_H_
