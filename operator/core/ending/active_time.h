#ifndef MUSTER_OPERATOR_CORE_ENDING_ACTIVE_TIME_H_
#define MUSTER_OPERATOR_CORE_ENDING_ACTIVE_TIME_H_

#include "absl/time/time.h"
#include "operator/core/state/draft.h"
#include "proto/muster/v1alpha1/training_job.pb.h"

// A job's active time, which activeDeadline limits and which the queue takes as the job's run time.
// It counts from the job's first round on, except while no worker has a node because the job is
// suspended, makes room for others or waits for its turn. The status keeps it, so a new leader goes
// on counting.
namespace muster::control {

// Returns the active time at `wall`. A wall clock that was set back takes nothing away from it.
absl::Duration ActiveFor(const v1alpha1::TrainingJobStatus& status, absl::Time wall);

// Policy: the job fails with DeadlineExceeded once it has been active for activeDeadline.
void EnforceDeadline(Draft& draft);

// Policy, one of the last: starts and stops the count.
void KeepActiveTime(Draft& draft);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_CORE_ENDING_ACTIVE_TIME_H_
