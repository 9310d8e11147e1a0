#ifndef MUSTER_TRAINER_MODEL_FAMILIES_ROPE_CONFIG_H_
#define MUSTER_TRAINER_MODEL_FAMILIES_ROPE_CONFIG_H_

#include "base/json.h"
#include "planner/model_shape.h"
#include "trainer/model/families/config_reader.h"

namespace muster::trainer {

// The rope_scaling of Hugging Face's config.json; null if there is none.
Json RopeScalingJson(const planner::RopeScaling& scaling);
planner::RopeScaling ReadRopeScaling(ConfigReader& config);

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_MODEL_FAMILIES_ROPE_CONFIG_H_
