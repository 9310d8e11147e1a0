#ifndef MUSTER_OPERATOR_RECONCILE_POD_POD_SPOT_H_
#define MUSTER_OPERATOR_RECONCILE_POD_POD_SPOT_H_

#include "base/json.h"
#include "proto/muster/v1alpha1/training_job.pb.h"

namespace muster::control {

// Lets a pod onto the spot nodes that clouds taint, if the job allows spot nodes, by a toleration
// of each such taint whose key the template's tolerations lack; a job that allows none gets the
// label by which the filter keeps the pod off spot nodes. A job without spec.spot is left as it is.
// Pure.
void AddSpot(const v1alpha1::TrainingJobSpec& job, Json& pod);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_RECONCILE_POD_POD_SPOT_H_
