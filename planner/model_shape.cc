#include "planner/model_shape.h"

#include "absl/strings/str_cat.h"

namespace muster::planner {
namespace {

// LLaMA's feed-forward part has three matrices instead of two, and 2/3 of the usual 4 widths, in
// multiples of this (multiple_of in its first release).
constexpr int32_t kFeedForwardMultiple = 256;

int32_t OwnFeedForwardWidth(const ModelShape& shape) {
  if (shape.family != ModelFamily::kLlama) return 4 * shape.width;
  const int64_t width = int64_t{8} * shape.width / 3;
  return static_cast<int32_t>((width + kFeedForwardMultiple - 1) / kFeedForwardMultiple *
                              kFeedForwardMultiple);
}

absl::Status CheckLlama(const ModelShape& shape) {
  if (shape.key_value_heads < 0 ||
      (shape.key_value_heads > 0 && shape.heads % shape.key_value_heads != 0)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "heads ", shape.heads, " is not a multiple of keyValueHeads ", shape.key_value_heads));
  }
  if (shape.head_width() % 2 != 0) {
    return absl::InvalidArgumentError(absl::StrCat("width ", shape.width, " / heads ", shape.heads,
                                                   " is odd, and rotary positions turn pairs"));
  }
  const RopeScaling& scaling = shape.rope_scaling;
  if (!(shape.rope_theta > 1) || !(scaling.factor >= 1)) {
    return absl::InvalidArgumentError(absl::StrCat("rope: theta ", shape.rope_theta,
                                                   " must be more than 1 and factor ",
                                                   scaling.factor, " at least 1"));
  }
  if (scaling.kind == RopeScaling::Kind::kLlama3 &&
      (scaling.original_positions < 1 || !(scaling.low_frequency_factor > 0) ||
       !(scaling.low_frequency_factor < scaling.high_frequency_factor))) {
    return absl::InvalidArgumentError(
        "rope: llama3 needs originalPositions and 0 < lowFrequencyFactor < highFrequencyFactor");
  }
  return absl::OkStatus();
}

// Counts a block with biases and LayerNorms: qkv 3c^2+3c, attention projection c^2+c, MLP 8c^2+5c,
// two norms 4c.
int64_t BlockParameters(int64_t c) { return 12 * c * c + 13 * c; }

// Counts a block without biases: queries and output c^2 each, keys and values, three matrices of
// the MLP, two norms c each.
int64_t LlamaBlockParameters(const ModelShape& shape) {
  const int64_t c = shape.width;
  return 2 * c * c + 2 * c * shape.key_value_width() + 3 * c * shape.feed_forward_width + 2 * c;
}

// Returns the number of parameters that every rank of a tensor axis has: gains and biases of norms,
// biases of what is summed over the axis, and positions.
int64_t WholeParameters(const ModelShape& shape) {
  const int64_t c = shape.width;
  switch (shape.family) {
    case ModelFamily::kGpt2:
      return shape.positions * c + shape.layers * 6 * c + 2 * c;
    case ModelFamily::kLlama:
      return shape.layers * 2 * c + c;
    case ModelFamily::kBloom:
      return 2 * c + shape.layers * 6 * c + 2 * c;
  }
  return 0;
}

}  // namespace

absl::string_view Name(ModelFamily family) {
  switch (family) {
    case ModelFamily::kGpt2:
      return "gpt2";
    case ModelFamily::kLlama:
      return "llama";
    case ModelFamily::kBloom:
      return "bloom";
  }
  return "";
}

absl::StatusOr<ModelFamily> ParseModelFamily(absl::string_view name) {
  for (const auto family : {ModelFamily::kGpt2, ModelFamily::kLlama, ModelFamily::kBloom}) {
    if (Name(family) == name) return family;
  }
  return absl::InvalidArgumentError(
      absl::StrCat("no model family \"", name, "\"; there are gpt2, llama, bloom"));
}

absl::string_view Name(RopeScaling::Kind kind) {
  switch (kind) {
    case RopeScaling::Kind::kNone:
      return "default";
    case RopeScaling::Kind::kLinear:
      return "linear";
    case RopeScaling::Kind::kLlama3:
      return "llama3";
  }
  return "";
}

ModelShape CompleteShape(ModelShape shape) {
  if (shape.key_value_heads == 0) shape.key_value_heads = shape.heads;
  if (shape.feed_forward_width == 0) shape.feed_forward_width = OwnFeedForwardWidth(shape);
  return shape;
}

absl::Status CheckShape(const ModelShape& shape) {
  if (shape.layers < 1 || shape.heads < 1 || shape.width < 1 || shape.positions < 1) {
    return absl::InvalidArgumentError(
        "a model needs a preset, or all of layers, heads, width and positions, each at least 1");
  }
  if (shape.width % shape.heads != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("width ", shape.width, " is not a multiple of heads ", shape.heads));
  }
  if (!(shape.dropout >= 0 && shape.dropout < 1)) {
    return absl::InvalidArgumentError(absl::StrCat("dropout ", shape.dropout, " is not in [0, 1)"));
  }
  if (!(shape.norm_epsilon > 0 && shape.norm_epsilon <= 1)) {
    return absl::InvalidArgumentError(
        absl::StrCat("normEpsilon ", shape.norm_epsilon, " is not in (0, 1]"));
  }
  return shape.family == ModelFamily::kLlama ? CheckLlama(shape) : absl::OkStatus();
}

int64_t ParameterCount(const ModelShape& shape) {
  const int64_t c = shape.width;
  const int64_t embedding = int64_t{shape.vocabulary} * c;
  const int64_t head = shape.tied_head ? 0 : embedding;
  switch (shape.family) {
    case ModelFamily::kGpt2:
      return embedding + shape.positions * c + shape.layers * BlockParameters(c) + 2 * c + head;
    case ModelFamily::kLlama:
      return embedding + shape.layers * LlamaBlockParameters(shape) + c + head;
    case ModelFamily::kBloom:
      return embedding + 2 * c + shape.layers * BlockParameters(c) + 2 * c + head;
  }
  return 0;
}

int64_t ParameterCountOfPart(const ModelShape& shape, int tensor) {
  if (tensor <= 1) return ParameterCount(shape);
  const int64_t embeddings = shape.tied_head ? 1 : 2;
  const int64_t of_tokens = embeddings * shape.vocabulary * shape.width;
  const int64_t whole = WholeParameters(shape);
  const int64_t divided = ParameterCount(shape) - of_tokens - whole;
  return whole + divided / tensor +
         embeddings * VocabularyOfPart(shape, tensor) * int64_t{shape.width};
}

int64_t VocabularyOfPart(const ModelShape& shape, int tensor) {
  return (int64_t{shape.vocabulary} + tensor - 1) / tensor;
}

}  // namespace muster::planner
