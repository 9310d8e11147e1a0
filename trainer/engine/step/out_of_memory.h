#ifndef MUSTER_TRAINER_ENGINE_STEP_OUT_OF_MEMORY_H_
#define MUSTER_TRAINER_ENGINE_STEP_OUT_OF_MEMORY_H_

#include "absl/status/status.h"
#include "trainer/engine/state/training_state.h"

namespace muster::trainer {

// Adds to a ResourceExhausted that says what a device could not give: what this rank holds there by
// its use, and which fields of the job would need less. Other statuses are returned as they are.
absl::Status ExplainNoMemory(const absl::Status& status, const TrainingState& state);

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_ENGINE_STEP_OUT_OF_MEMORY_H_
