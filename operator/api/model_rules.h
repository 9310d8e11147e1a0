#ifndef MUSTER_OPERATOR_API_MODEL_RULES_H_
#define MUSTER_OPERATOR_API_MODEL_RULES_H_

#include <optional>
#include <string>

#include "proto/muster/v1alpha1/training_job.pb.h"

namespace muster::control {

// The rules on a model's shape: predicates of rules.h, each for the message that declares it.

std::optional<std::string> SequenceFitsPositions(const v1alpha1::TrainerSpec& trainer);
std::optional<std::string> TensorDividesHeads(const v1alpha1::TrainerSpec& trainer);
std::optional<std::string> ContextDividesHeads(const v1alpha1::TrainerSpec& trainer);
std::optional<std::string> ModelHasShape(const v1alpha1::ModelSpec& model);
std::optional<std::string> ScriptHasShape(const v1alpha1::ModelSpec& model);
std::optional<std::string> PresetHasFamily(const v1alpha1::ModelSpec& model);
std::optional<std::string> HeadsDivideWidth(const v1alpha1::ModelSpec& model);
std::optional<std::string> OptionsOfLlama(const v1alpha1::ModelSpec& model);
std::optional<std::string> KeyValueHeadsDivideHeads(const v1alpha1::ModelSpec& model);
std::optional<std::string> RopeTurnsPairs(const v1alpha1::ModelSpec& model);
std::optional<std::string> RopeScalingOfKind(const v1alpha1::RopeScalingSpec& scaling);
std::optional<std::string> FrequencyFactorsOrder(const v1alpha1::RopeScalingSpec& scaling);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_API_MODEL_RULES_H_
