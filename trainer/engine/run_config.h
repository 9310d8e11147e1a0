#ifndef MUSTER_TRAINER_ENGINE_RUN_CONFIG_H_
#define MUSTER_TRAINER_ENGINE_RUN_CONFIG_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "planner/model_presets.h"
#include "proto/muster/v1alpha1/training_job.pb.h"
#include "trainer/engine/trainer_settings.h"
#include "trainer/engine/training_state.h"

namespace muster::trainer {

// A TrainingJob's spec in the trainer's own terms. The API has filled in defaults and validated it;
// a field that is absent nevertheless gets the same default here, and an impossible value is
// refused with InvalidArgument. Pure.
struct RunConfig {
  TrainingOptions training;
  TrainerSettings settings;
  planner::Precision precision = planner::Precision::kFp32;
  planner::OptimizerKind optimizer = planner::OptimizerKind::kAdamW;
  // Bounds every wait for other ranks.
  absl::Duration step_deadline;
  int keep = 3;  // complete checkpoints that are kept
};

absl::StatusOr<RunConfig> ReadRunConfig(const v1alpha1::TrainingJobSpec& spec, int local_rank);

// Returns OK if a process that opened model, data and checkpoints according to `opened` can go on
// with `wanted`, else FailedPrecondition that names the field that it cannot follow.
absl::Status CheckSameSources(const v1alpha1::TrainingJobSpec& opened,
                              const v1alpha1::TrainingJobSpec& wanted);

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_ENGINE_RUN_CONFIG_H_
