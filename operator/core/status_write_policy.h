#ifndef MUSTER_OPERATOR_CORE_STATUS_WRITE_POLICY_H_
#define MUSTER_OPERATOR_CORE_STATUS_WRITE_POLICY_H_

#include "operator/core/draft.h"
#include "proto/muster/v1alpha1/training_job.pb.h"

namespace muster::control {

// The last step of a decision: whether the status is written now. While a gang comes together it
// changes with every pod that is made, bound and attached, and under a new leader with every agent
// that comes back; what of that only tells people is held back for options.tell_delay, so that a
// job costs a few writes however many pods it has. Whatever pods, orders or the next leader rest on
// is never held back, nor is that there is no room. The job's finalizer is told in the same way:
// until a round opens, garbage collection does all that it is for. A new leader's term is no reason
// to write before agents can come: to take over any number of jobs that wait costs no write.
void DecideWrite(Draft& draft);

// They differ in nothing but how far the gang has come together, or how many of it are there.
bool OnlyTells(const v1alpha1::TrainingJobStatus& before, const v1alpha1::TrainingJobStatus& after);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_CORE_STATUS_WRITE_POLICY_H_
