#ifndef MUSTER_OPERATOR_SCHEDULER_GANG_GANG_REQUEST_H_
#define MUSTER_OPERATOR_SCHEDULER_GANG_GANG_REQUEST_H_

#include <string>

#include "operator/api/training_job.h"
#include "operator/placement/cluster/scheduling_pod.h"
#include "operator/placement/complete_gang.h"
#include "operator/placement/placement.h"
#include "operator/scheduler/cluster/cluster_model.h"

namespace muster::control {

// What placement is asked about a job's pods; `spec` is the job's with its defaults.
PartialGang MakeGangRequest(const TrainingJob& job, const v1alpha1::TrainingJobSpec& spec,
                            const Gang& gang);

// Two gangs of equal shape fit or do not fit alike, as far as only nodes decide about one pod of
// each; empty for one that has nodes already, or whose pods look at more than nodes. `pod` is one
// of its own.
std::string ShapeOf(const PartialGang& gang, const SchedulingPod& pod);

// The refusal with what would help, and with the nodes that were not looked at.
std::string FullSentence(const Unplaceable& no, const GangRequest& request,
                         const std::string& left_out);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_SCHEDULER_GANG_GANG_REQUEST_H_
