#ifndef MUSTER_OPERATOR_API_SPARE_RULES_H_
#define MUSTER_OPERATOR_API_SPARE_RULES_H_

#include <optional>
#include <string>

#include "proto/muster/v1alpha1/training_job.pb.h"

namespace muster::control {

// The rules about workers.spares, each named as its option in training_job.proto. A rule that is
// broken returns the numbers that break it, or an empty text; one that is kept returns nothing.
std::optional<std::string> SlicesDivideSpares(const v1alpha1::TrainingJobSpec& spec);
std::optional<std::string> SparesWithoutGrowth(const v1alpha1::TrainingJobSpec& spec);
std::optional<std::string> SparesOfEquals(const v1alpha1::TrainingJobSpec& spec);
std::optional<std::string> PodsWithSpares(const v1alpha1::WorkersSpec& workers);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_API_SPARE_RULES_H_
