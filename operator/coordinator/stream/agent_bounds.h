#ifndef MUSTER_OPERATOR_COORDINATOR_STREAM_AGENT_BOUNDS_H_
#define MUSTER_OPERATOR_COORDINATOR_STREAM_AGENT_BOUNDS_H_

#include "absl/status/status.h"
#include "proto/muster/v1alpha1/agent_messages.pb.h"
#include "proto/muster/v1alpha1/training_job.pb.h"

// The bounds of what the operator takes from an agent, whose worker may be anybody's program. Pure.
namespace muster::control {

// The most workers of a job, with its spares, and ranks of a worker, as the API allows.
inline constexpr int kMostWorkers = 5000 + 64;
inline constexpr int kMostRanksOfWorker = 64;

struct JobBounds {
  int workers = kMostWorkers;
  int ranks = kMostRanksOfWorker;  // of each worker
  bool operator==(const JobBounds&) const = default;
};

// Returns the bounds of a job; `known` workers are recorded in its status.
JobBounds BoundsOf(const v1alpha1::TrainingJobSpec& spec, int known);

// Returns InvalidArgument, with the field, for a hello that no agent sends.
absl::Status CheckBounds(const v1alpha1::AgentHello& hello);

// Makes a worker's message one that the rest of the operator can take as it is: texts are cut, and
// figures that cannot be are brought into their range or taken for unknown. InvalidArgument, with
// the field, for a message that names what no job or this one cannot have: nothing of it may be
// used then.
absl::Status Bound(const JobBounds& job, v1alpha1::AgentMessage& message);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_COORDINATOR_STREAM_AGENT_BOUNDS_H_
