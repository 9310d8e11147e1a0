#ifndef MUSTER_OPERATOR_CORE_FAILURE_PERSISTENCE_H_
#define MUSTER_OPERATOR_CORE_FAILURE_PERSISTENCE_H_

#include "operator/core/draft.h"

// What of RoundMemory must outlive its leader: which failures were judged, the back-off, unusable
// checkpoints, and a restart that was decided and has not begun. It is kept in status.failures.
namespace muster::control {

// Policy, the first to need them: a new leader takes over what the last one left in the status.
void RecallFailures(Draft& draft);

// Policy, the last: what this decision changed goes into the status, in its one write.
void KeepFailures(Draft& draft);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_CORE_FAILURE_PERSISTENCE_H_
