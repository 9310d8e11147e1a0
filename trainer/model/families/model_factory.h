#ifndef MUSTER_TRAINER_MODEL_FAMILIES_MODEL_FACTORY_H_
#define MUSTER_TRAINER_MODEL_FAMILIES_MODEL_FACTORY_H_

#include <cstddef>
#include <string>

#include "absl/status/status.h"
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

// Returns OK if the model of Hugging Face's config.json computes what the model computes that has
// `ours` for its config_json; its longest sequence and its dropout may be others where they shape
// no weight. `tensors` is the number of its tensors. InvalidArgument names the fields that differ,
// with both values, and those that are not known here, unless they are known to change nothing.
// `vocabulary` says where ours comes from.
absl::Status CheckSameModel(const Json& config, const Json& ours, size_t tensors,
                            const std::string& vocabulary);

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_MODEL_FAMILIES_MODEL_FACTORY_H_
