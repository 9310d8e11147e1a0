#ifndef MUSTER_OPERATOR_API_SPARE_RULES_H_
#define MUSTER_OPERATOR_API_SPARE_RULES_H_

#include <cstdint>
#include <optional>
#include <string>

#include "proto/muster/v1alpha1/training_job.pb.h"

namespace muster::control {

// The rules about workers.spares, each named as its option in training_job.proto. A rule that is
// broken returns the numbers that break it, or an empty text; one that is kept returns nothing.
//
// So many workers, or spares, must be whole slices of the largest kind.
std::optional<std::string> SlicesDivide(const v1alpha1::TopologySpec& topology, int32_t workers);
std::optional<std::string> SlicesDivideSpares(const v1alpha1::TrainingJobSpec& spec);
std::optional<std::string> SparesWithoutGrowth(const v1alpha1::TrainingJobSpec& spec);
std::optional<std::string> SparesOfEquals(const v1alpha1::TrainingJobSpec& spec);
std::optional<std::string> PodsWithSpares(const v1alpha1::WorkersSpec& workers);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_API_SPARE_RULES_H_
