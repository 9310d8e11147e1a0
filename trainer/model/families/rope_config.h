#ifndef MUSTER_TRAINER_MODEL_FAMILIES_ROPE_CONFIG_H_
#define MUSTER_TRAINER_MODEL_FAMILIES_ROPE_CONFIG_H_

#include "base/json.h"
#include "planner/model_shape.h"
#include "trainer/model/families/config_reader.h"

namespace muster::trainer {

// Returns the rope_scaling object of Hugging Face's config.json; null without scaling.
Json RopeScalingJson(const planner::RopeScaling& scaling);
planner::RopeScaling ReadRopeScaling(ConfigReader& config);

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_MODEL_FAMILIES_ROPE_CONFIG_H_
