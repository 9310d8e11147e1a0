#ifndef MUSTER_OPERATOR_RECONCILE_VIEW_VIEW_BUILDER_H_
#define MUSTER_OPERATOR_RECONCILE_VIEW_VIEW_BUILDER_H_

#include <memory>
#include <string>
#include <vector>

#include "operator/api/training_job.h"
#include "operator/coordinator/progress/progress_board.h"
#include "operator/coordinator/stream/agent_registry.h"
#include "operator/core/state/view.h"

// Converts what the shell holds to the plain values that Decide() reads. Pure.
namespace muster::control {

AgentView ToAgentView(const AgentState& state);
ProgressView ToProgressView(const ProgressSnapshot& snapshot);
CheckpointView ToCheckpointView(const ProgressSnapshot& snapshot);

// A spec as decisions read it: with defaults, and its validation errors.
struct ValidatedSpec {
  std::shared_ptr<const v1alpha1::TrainingJobSpec> spec;  // never null
  std::vector<std::string> errors;
  bool probed = false;  // as in JobView
  std::string storage;  // of its checkpoints
};
ValidatedSpec ValidateSpec(const v1alpha1::TrainingJobSpec& spec, const std::string& ns);

// Fills in identity, `validated` (of the same generation), and the status; the rest is the
// caller's.
JobView MakeJobView(const TrainingJob& job, const ValidatedSpec& validated);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_RECONCILE_VIEW_VIEW_BUILDER_H_
