#ifndef MUSTER_OPERATOR_CORE_TRAJECTORY_H_
#define MUSTER_OPERATOR_CORE_TRAJECTORY_H_

#include <string>
#include <vector>

#include "proto/muster/v1alpha1/training_job.pb.h"

// What of a spec the ranks of one round must agree on: what shapes the numbers of a run, and when
// they validate and save, which they do together. The other fields may change while ranks train. A
// round trains by one spec; a change of these fields opens the next round. Pure.
namespace muster::control {

// 32 hex digits, the same for specs whose ranks may train together; empty without the trainer. An
// operator that knows more fields makes another digest, which costs a running job one new round.
std::string TrajectoryDigest(const v1alpha1::TrainingJobSpec& spec);

// The part of a digest that tells specs with the same data and checkpoint directory from others;
// empty of a digest that an older operator made.
std::string SourcesOf(const std::string& trajectory);

// The spec that a round's orders carry: without the pod template, which is none of the ranks'
// business.
v1alpha1::TrainingJobSpec RoundSpec(const v1alpha1::TrainingJobSpec& spec);

// Both lists, as paths in JSON names. A path that ends at an object stands for all of it.
std::vector<std::string> FieldsThatShapeTheTrajectory();
std::vector<std::string> FieldsThatDoNot();

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_CORE_TRAJECTORY_H_
