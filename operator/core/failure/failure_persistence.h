#ifndef MUSTER_OPERATOR_CORE_FAILURE_FAILURE_PERSISTENCE_H_
#define MUSTER_OPERATOR_CORE_FAILURE_FAILURE_PERSISTENCE_H_

#include "operator/core/state/draft.h"

// The part of RoundMemory that must outlive its leader: which failures were judged, the back-off,
// unusable checkpoints, and a restart that was decided and has not begun. It is kept in
// status.failures.
namespace muster::control {

// Policy, ahead of all that need it: a new leader restores what the last one left in the status.
void RestoreFailures(Draft& draft);

// One of the last steps: stores in the status what this decision changed.
void StoreFailures(Draft& draft);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_CORE_FAILURE_FAILURE_PERSISTENCE_H_
