#ifndef MUSTER_OPERATOR_SCHEDULER_GANG_GANG_REQUEST_H_
#define MUSTER_OPERATOR_SCHEDULER_GANG_GANG_REQUEST_H_

#include <string>

#include "operator/api/training_job.h"
#include "operator/placement/cluster/scheduling_pod.h"
#include "operator/placement/complete_gang.h"
#include "operator/placement/placement.h"
#include "operator/scheduler/cluster/cluster_model.h"

namespace muster::control {

// Builds the placement request for a job's pods. `spec` is the job's with its defaults.
PartialGang MakeGangRequest(const TrainingJob& job, const v1alpha1::TrainingJobSpec& spec,
                            const Gang& gang);

// Returns the shape of a gang. Two gangs of equal shape fit or do not fit alike. Empty if some pods
// have nodes already, if some workers have ended, or if more than the nodes alone decides where a
// pod may go. `pod` is one of the gang's own.
std::string ShapeOf(const PartialGang& gang, const SchedulingPod& pod);

// Returns the bounds on spot nodes that a job states.
SpotBounds SpotBoundsOf(const v1alpha1::TrainingJobSpec& spec);

// Returns the refusal's sentence with what would help and which nodes were left out.
std::string FullSentence(const Unplaceable& no, const GangRequest& request,
                         const std::string& left_out);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_SCHEDULER_GANG_GANG_REQUEST_H_
