#ifndef MUSTER_OPERATOR_CORE_ROUND_RESUMED_H_
#define MUSTER_OPERATOR_CORE_ROUND_RESUMED_H_

#include "operator/core/state/draft.h"

namespace muster::control {

// Records in status.resume the state from which the round trains that became Active, with the bytes
// and the time that its ranks report. A round that was adopted after a take-over leaves the record
// as it is: this leadership did not see how it began.
void NoteResumed(Draft& draft);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_CORE_ROUND_RESUMED_H_
