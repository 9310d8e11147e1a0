#ifndef MUSTER_OPERATOR_CORE_ROUND_TUNINGS_H_
#define MUSTER_OPERATOR_CORE_ROUND_TUNINGS_H_

#include "operator/core/state/draft.h"

namespace muster::control {

// Policy: appends to status.tunings each change that rank 0 reports to be in force, once, with its
// first step and an event. A change whose own reports were lost has the latest step that those of
// the next one allow.
void RecordTunings(Draft& draft);

// Policy: while a round is Active, sends its members the whole list of changes whenever that
// differs from what they have by the round's spec or an earlier order, and again on a new stream
// after such an order. A new leader, which does not know the round's spec, sends it once.
void TellTunings(Draft& draft);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_CORE_ROUND_TUNINGS_H_
