#ifndef MUSTER_OPERATOR_RECONCILE_POD_POD_GRACE_H_
#define MUSTER_OPERATOR_RECONCILE_POD_POD_GRACE_H_

#include "absl/time/time.h"
#include "base/json.h"
#include "proto/muster/v1alpha1/training_job.pb.h"

namespace muster::control {

// Returns how long a worker may take from the signal to terminate until it is killed, in whole
// seconds: Kubernetes' 30 s, and for a built-in trainer that saves checkpoints also the time that
// it takes to write one of its model at 100 MB/s, up to half an hour. A command's save takes a time
// that only its author knows: its template says so. Pure.
absl::Duration TerminationGrace(const v1alpha1::TrainingJobSpec& spec);

// Sets the pod's terminationGracePeriodSeconds unless the template does, and returns it.
absl::Duration SetTerminationGrace(const v1alpha1::TrainingJobSpec& spec, Json& pod_spec);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_RECONCILE_POD_POD_GRACE_H_
