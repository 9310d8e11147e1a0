#ifndef MUSTER_OPERATOR_RUNTIME_VIEW_BUILDER_H_
#define MUSTER_OPERATOR_RUNTIME_VIEW_BUILDER_H_

#include <vector>

#include "operator/api/training_job.h"
#include "operator/coordinator/agent_registry.h"
#include "operator/coordinator/progress_board.h"
#include "operator/core/view.h"

// From what the shell holds to the plain values that Decide() reads. Pure.
namespace muster::control {

AgentView ToAgentView(const AgentState& state);
ProgressView ToProgressView(const ProgressSnapshot& snapshot);
CheckpointView ToCheckpointView(const ProgressSnapshot& snapshot);

// Identity, defaulted spec, its errors, and the status; the rest is left for the caller.
JobView MakeJobView(const TrainingJob& job);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_RUNTIME_VIEW_BUILDER_H_
