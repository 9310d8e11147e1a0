#ifndef MUSTER_OPERATOR_CORE_ENDING_LIFETIME_H_
#define MUSTER_OPERATOR_CORE_ENDING_LIFETIME_H_

#include "operator/core/state/draft.h"

// The life of the job's object: whether it is taken on, and when it is deleted.
namespace muster::control {

// Keeps a deleted job until its pods are gone.
inline constexpr char kFinalizer[] = "muster.dev/workers";

// Policy: deletes the pods of a deleted job, then removes its finalizer.
void HandleDeletion(Draft& draft);

// Policy: stops the workers of a finished job, and deletes the job after ttlSecondsAfterFinished.
void ExpireFinished(Draft& draft);

// Policy: a spec with errors starts nothing; a valid one gets its finalizer and first status.
void Admit(Draft& draft);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_CORE_ENDING_LIFETIME_H_
