#ifndef MUSTER_TRAINER_PROCESS_SPEC_READER_H_
#define MUSTER_TRAINER_PROCESS_SPEC_READER_H_

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "proto/muster/v1alpha1/training_job.pb.h"
#include "trainer/engine/run_config.h"

namespace muster::trainer {

// Reads the spec of a TrainingJob. The API has filled in defaults and validated it; a field that is
// absent nevertheless gets the same default here, and an impossible value is refused with
// InvalidArgument. Optimizers and schedules are found by name (trainer/optim/registry.h). Pure.
absl::StatusOr<RunConfig> ReadRunConfig(const v1alpha1::TrainingJobSpec& spec, int local_rank);

// Returns OK if a process that opened model, data and checkpoints according to `opened` can go on
// with `wanted`, else FailedPrecondition that names the field that it cannot follow.
absl::Status CheckSameSources(const v1alpha1::TrainingJobSpec& opened,
                              const v1alpha1::TrainingJobSpec& wanted);

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_PROCESS_SPEC_READER_H_
