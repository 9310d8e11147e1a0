#ifndef MUSTER_OPERATOR_CORE_LIFECYCLE_H_
#define MUSTER_OPERATOR_CORE_LIFECYCLE_H_

#include "operator/core/draft.h"

// The policies about a job's beginning and end.
namespace muster::control {

// Keeps a deleted job until its pods are gone.
inline constexpr char kFinalizer[] = "muster.dev/workers";

// Deleting: pods are deleted, then the finalizer is removed.
void HandleDeletion(Draft& draft);

// Finished: workers are stopped, and the job is deleted after ttlSecondsAfterFinished.
void ExpireFinished(Draft& draft);

// A spec with errors starts nothing; a valid one gets its finalizer and first status.
void Admit(Draft& draft);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_CORE_LIFECYCLE_H_
