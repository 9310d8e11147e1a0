#ifndef MUSTER_OPERATOR_API_GPU_RULES_H_
#define MUSTER_OPERATOR_API_GPU_RULES_H_

#include <optional>
#include <string>

#include "proto/muster/v1alpha1/training_job.pb.h"

namespace muster::control {

// The rules on what the built-in trainer does with GPUs alone, or cannot do with them: predicates
// of rules.h, each for the message that declares it.

std::optional<std::string> ScriptWithoutGpus(const v1alpha1::TrainingJobSpec& spec);
std::optional<std::string> OffloadWithoutGpus(const v1alpha1::TrainingJobSpec& spec);
std::optional<std::string> RdmaOfTheTrainersGpus(const v1alpha1::TrainingJobSpec& spec);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_API_GPU_RULES_H_
