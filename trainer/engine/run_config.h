#ifndef MUSTER_TRAINER_ENGINE_RUN_CONFIG_H_
#define MUSTER_TRAINER_ENGINE_RUN_CONFIG_H_

#include <functional>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "proto/muster/v1alpha1/training_job.pb.h"
#include "trainer/engine/link/trainer_settings.h"
#include "trainer/engine/state/training_state.h"

namespace muster::trainer {

// A TrainingJob's spec in the trainer's own terms: the part of it that a round can change.
struct RunConfig {
  TrainingOptions training;
  TrainerSettings settings;
  // Bounds every wait for other ranks.
  absl::Duration step_deadline;
  int keep = 3;  // complete checkpoints that are kept
};

// Reads the spec of a new round. Returns an error that names the field if the process cannot go on
// with it.
using SpecReader =
    std::function<absl::StatusOr<RunConfig>(const v1alpha1::TrainingJobSpec& wanted)>;

// Returns ResourceExhausted if this rank's memory has no room for its part of the state while so
// many ranks of a round divide a copy of it.
using RoundFitCheck = std::function<absl::Status(int shards)>;

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_ENGINE_RUN_CONFIG_H_
