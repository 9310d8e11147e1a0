#ifndef MUSTER_OPERATOR_CORE_STATE_TRAJECTORY_H_
#define MUSTER_OPERATOR_CORE_STATE_TRAJECTORY_H_

#include <string>
#include <vector>

#include "proto/muster/v1alpha1/training_job.pb.h"

// The fields of a spec on which the ranks of one round must agree: those that shape the numbers of
// a run, and those that set when ranks validate and save, which they do together. The other fields
// may change while ranks train. A round trains by one spec; a change of these fields opens the next
// round. Pure.
namespace muster::control {

// Returns 32 hex digits, equal for specs whose ranks may train together; empty without the trainer.
// An operator with more fields computes other digests, which costs a running job one new round.
std::string TrajectoryDigest(const v1alpha1::TrainingJobSpec& spec);

// Returns the part of a digest that depends on the data and the checkpoint directory alone; empty
// for a digest that an older operator made.
std::string SourcesOf(const std::string& trajectory);

// Returns the spec that a round's orders carry: without the pod template, which ranks do not need,
// and with the steps at which tunings came into force (tuned_steps.h).
v1alpha1::TrainingJobSpec RoundSpec(const v1alpha1::TrainingJobSpec& spec,
                                    const v1alpha1::TrainingJobStatus& status);

// Return the fields as paths of JSON names. A path that ends at an object stands for all of it.
std::vector<std::string> FieldsThatShapeTheTrajectory();
std::vector<std::string> FieldsOutsideTrajectory();

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_CORE_STATE_TRAJECTORY_H_
