#ifndef MUSTER_OPERATOR_CORE_ACTIVE_TIME_H_
#define MUSTER_OPERATOR_CORE_ACTIVE_TIME_H_

#include "absl/time/time.h"
#include "operator/core/draft.h"
#include "proto/muster/v1alpha1/training_job.pb.h"

// How long a job has been active, which is what activeDeadline limits and the queue takes for its
// run time: from its first round on, less the time in which no worker had a node because the job
// was suspended, made room for others or waited for its turn. The status keeps it, so a new leader
// goes on counting.
namespace muster::control {

// By the wall clock; one that was set back takes nothing away.
absl::Duration ActiveFor(const v1alpha1::TrainingJobStatus& status, absl::Time wall);

// Policy: the job fails with DeadlineExceeded once it has been active for activeDeadline.
void EnforceDeadline(Draft& draft);

// Policy, one of the last: begins and stops counting.
void KeepActiveTime(Draft& draft);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_CORE_ACTIVE_TIME_H_
