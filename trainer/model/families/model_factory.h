#ifndef MUSTER_TRAINER_MODEL_FAMILIES_MODEL_FACTORY_H_
#define MUSTER_TRAINER_MODEL_FAMILIES_MODEL_FACTORY_H_

#include <cstddef>

#include "absl/status/statusor.h"
#include "base/json.h"
#include "planner/model_shape.h"
#include "trainer/model/block.h"

namespace muster::trainer {

// The one place that knows which families of models there are: the engine trains and `muster
// generate` reads whatever is made here.

// InvalidArgument for an impossible shape.
absl::StatusOr<Model> MakeModel(const planner::ModelShape& shape);

// Reads Hugging Face's config.json as MakeModel's models write it; dropout is left out. `tensors`
// is the number of tensors in the checkpoint, which bounds the model's layers. InvalidArgument,
// which names the field, for a model that MakeModel does not make.
absl::StatusOr<planner::ModelShape> ReadModelShape(const Json& config, size_t tensors);

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_MODEL_FAMILIES_MODEL_FACTORY_H_
