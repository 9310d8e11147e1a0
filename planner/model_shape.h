#ifndef MUSTER_PLANNER_MODEL_SHAPE_H_
#define MUSTER_PLANNER_MODEL_SHAPE_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace muster::planner {

// The one description of a model that presets, manifests and checkpoints are turned into, and
// models are made from. Pure arithmetic. Thread-safe: no state.

enum class ModelFamily { kGpt2, kLlama, kBloom };
// Returns Hugging Face's model_type, which is also the name in a manifest.
absl::string_view Name(ModelFamily family);
absl::StatusOr<ModelFamily> ParseModelFamily(absl::string_view name);

// The change of rotary positions' frequencies, as transformers' rope_scaling defines it.
struct RopeScaling {
  enum class Kind { kNone, kLinear, kLlama3 };
  Kind kind = Kind::kNone;
  double factor = 1;
  // Turns in original_positions, of kLlama3.
  double low_frequency_factor = 1;
  double high_frequency_factor = 4;
  int32_t original_positions = 0;

  bool operator==(const RopeScaling&) const = default;
};
// The name in manifests and in transformers; kNone is "default".
absl::string_view Name(RopeScaling::Kind kind);

// Everything that determines a model's tensors and what it computes, plus dropout. The members from
// key_value_heads to rope_scaling are LLaMA's; the other families have the values that
// CompleteShape() gives them.
struct ModelShape {
  ModelFamily family = ModelFamily::kGpt2;
  int32_t layers = 0;
  int32_t heads = 0;
  int32_t width = 0;
  int32_t positions = 0;
  int32_t vocabulary = 0;
  double dropout = 0;
  double norm_epsilon = 1e-5;
  // The head shares the weights of the token embedding.
  bool tied_head = true;
  int32_t key_value_heads = 0;     // 0: as many as heads
  int32_t feed_forward_width = 0;  // 0: the family's own
  double rope_theta = 10000;
  RopeScaling rope_scaling;

  int32_t head_width() const { return width / heads; }
  int32_t key_value_width() const { return head_width() * key_value_heads; }

  bool operator==(const ModelShape&) const = default;
};

// Replaces each 0 that stands for the family's own value by that value.
ModelShape CompleteShape(ModelShape shape);

// InvalidArgument for a shape that no model can have. The vocabulary is not looked at.
absl::Status CheckShape(const ModelShape& shape);

// Counts trainable parameters of a complete shape; a tied head counts once.
int64_t ParameterCount(const ModelShape& shape);
// Returns the number of those that the first of `tensor` ranks has, which divide the model: their
// parts of matrices, and all of the rest. No other rank has more.
int64_t ParameterCountOfPart(const ModelShape& shape, int tensor);
// Returns the most tokens of the vocabulary that any of them has.
int64_t VocabularyOfPart(const ModelShape& shape, int tensor);

}  // namespace muster::planner

#endif  // MUSTER_PLANNER_MODEL_SHAPE_H_
