#ifndef MUSTER_OPERATOR_CORE_STATUS_WRITE_POLICY_H_
#define MUSTER_OPERATOR_CORE_STATUS_WRITE_POLICY_H_

#include "operator/core/state/draft.h"
#include "proto/muster/v1alpha1/training_job.pb.h"

namespace muster::control {

// The last step of a decision: decides whether the status is written now. While a gang comes
// together, its status changes with every pod that is made, bound and attached, and under a new
// leader with every agent that comes back. Changes that only inform people are held back for
// options.status_write_delay, so that a job costs a few writes however many pods it has. Fields on
// which pods, orders or the next leader rest are never held back, nor is the news that there is no
// room. The job's finalizer is delayed in the same way: until a round opens, garbage collection
// does all that it is for. A new leader's term is no reason to write before agents can come, so
// taking over any number of waiting jobs costs no write.
void DecideWrite(Draft& draft);

// Returns true if the two differ only in how far the gang has come together, or in workers.ready.
bool IsCosmeticChange(const v1alpha1::TrainingJobStatus& before,
                      const v1alpha1::TrainingJobStatus& after);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_CORE_STATUS_WRITE_POLICY_H_
