#include "trainer/model/model_factory.h"

#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "trainer/model/gpt2.h"

namespace muster::trainer {
namespace {

constexpr int32_t kMostSize = 1 << 24;

absl::StatusOr<int32_t> ReadNumber(const Json& config, const char* field, int32_t most) {
  const auto found = config.find(field);
  if (found == config.end() || !found->is_number_integer() || *found < 1 || *found > most) {
    return absl::InvalidArgumentError(
        absl::StrCat("the checkpoint's model: ", field, " must be an integer from 1 to ", most));
  }
  return found->get<int32_t>();
}

absl::StatusOr<planner::ModelShape> ReadGpt2(const Json& config, size_t tensors) {
  planner::ModelShape shape;
  MUSTER_ASSIGN_OR_RETURN(shape.layers,
                          ReadNumber(config, "n_layer", static_cast<int32_t>(tensors)));
  MUSTER_ASSIGN_OR_RETURN(shape.heads, ReadNumber(config, "n_head", kMostSize));
  MUSTER_ASSIGN_OR_RETURN(shape.width, ReadNumber(config, "n_embd", kMostSize));
  MUSTER_ASSIGN_OR_RETURN(shape.positions, ReadNumber(config, "n_positions", kMostSize));
  MUSTER_ASSIGN_OR_RETURN(shape.vocabulary, ReadNumber(config, "vocab_size", kMostSize));
  return shape;
}

}  // namespace

absl::StatusOr<Model> MakeModel(const planner::ModelShape& shape) {
  return MakeGpt2({.layers = shape.layers,
                   .heads = shape.heads,
                   .width = shape.width,
                   .positions = shape.positions,
                   .vocabulary = shape.vocabulary,
                   .dropout = shape.dropout});
}

absl::StatusOr<planner::ModelShape> ReadModelShape(const Json& config, size_t tensors) {
  if (!config.is_object() || config.value("model_type", Json()) != "gpt2") {
    return absl::InvalidArgumentError(
        "the checkpoint's model_type is not supported: it must be gpt2");
  }
  return ReadGpt2(config, tensors);
}

}  // namespace muster::trainer
