#include "planner/model_presets.h"

#include <algorithm>
#include <limits>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace muster::planner {
namespace {

constexpr int32_t kVocabularyMultiple = 64;

std::string PresetNames() {
  return absl::StrJoin(ModelPresets(), ", ", [](std::string* out, const ModelPreset& preset) {
    absl::StrAppend(out, preset.name);
  });
}

ModelShape Gpt2(int32_t layers, int32_t heads, int32_t width, int32_t positions) {
  return {.family = ModelFamily::kGpt2,
          .layers = layers,
          .heads = heads,
          .width = width,
          .positions = positions};
}

ModelShape Bloom(int32_t layers, int32_t heads, int32_t width, int32_t positions) {
  ModelShape shape = Gpt2(layers, heads, width, positions);
  shape.family = ModelFamily::kBloom;
  return shape;
}

// LLaMA 1 and 2. `key_value_heads` is 0 where each head has its own.
ModelShape Llama(int32_t layers, int32_t heads, int32_t key_value_heads, int32_t width,
                 int32_t feed_forward_width, int32_t positions, double norm_epsilon) {
  return {.family = ModelFamily::kLlama,
          .layers = layers,
          .heads = heads,
          .width = width,
          .positions = positions,
          .norm_epsilon = norm_epsilon,
          .tied_head = false,
          .key_value_heads = key_value_heads,
          .feed_forward_width = feed_forward_width};
}

ModelShape Llama3(int32_t layers, int32_t heads, int32_t width, int32_t feed_forward_width) {
  ModelShape shape = Llama(layers, heads, 8, width, feed_forward_width, 8192, 1e-5);
  shape.rope_theta = 500000;
  return shape;
}

// From Llama 3.1 on, models read 16 times as many positions as they began their training with.
ModelShape Llama31(ModelShape shape, double factor) {
  shape.positions = 131072;
  shape.rope_scaling = {
      .kind = RopeScaling::Kind::kLlama3, .factor = factor, .original_positions = 8192};
  return shape;
}

ModelShape TiedHead(ModelShape shape) {
  shape.tied_head = true;
  return shape;
}

void ReadRope(const v1alpha1::RopeSpec& spec, ModelShape& shape) {
  if (spec.has_theta()) shape.rope_theta = spec.theta();
  if (!spec.has_scaling()) return;
  const v1alpha1::RopeScalingSpec& scaling = spec.scaling();
  shape.rope_scaling = {.kind = scaling.kind() == Name(RopeScaling::Kind::kLlama3)
                                    ? RopeScaling::Kind::kLlama3
                                    : RopeScaling::Kind::kLinear,
                        .factor = scaling.factor(),
                        .original_positions = scaling.original_positions()};
  if (scaling.has_low_frequency_factor()) {
    shape.rope_scaling.low_frequency_factor = scaling.low_frequency_factor();
  }
  if (scaling.has_high_frequency_factor()) {
    shape.rope_scaling.high_frequency_factor = scaling.high_frequency_factor();
  }
}

// Refuses what the family has no place for: it would be ignored without a word.
absl::Status CheckOptions(const v1alpha1::ModelSpec& spec, ModelFamily family) {
  if (family == ModelFamily::kLlama) return absl::OkStatus();
  if (!spec.has_key_value_heads() && !spec.has_feed_forward_width() && !spec.has_rope() &&
      !spec.has_tied_head()) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat("keyValueHeads, feedForwardWidth, rope and tiedHead are options of llama, and "
                   "the model is a ",
                   Name(family)));
}

absl::StatusOr<ModelShape> StartingShape(const v1alpha1::ModelSpec& spec) {
  if (!spec.has_preset()) {
    const auto family = ParseModelFamily(spec.has_family() ? spec.family() : "gpt2");
    if (!family.ok()) return family.status();
    return ModelShape{.family = *family, .tied_head = *family != ModelFamily::kLlama};
  }
  const ModelPreset* preset = FindModelPreset(spec.preset());
  if (preset == nullptr) {
    return absl::InvalidArgumentError(
        absl::StrCat("no model preset \"", spec.preset(), "\"; there are ", PresetNames()));
  }
  if (spec.has_family() && spec.family() != Name(preset->shape.family)) {
    return absl::InvalidArgumentError(absl::StrCat("the preset ", spec.preset(), " is a ",
                                                   Name(preset->shape.family), ", not a ",
                                                   spec.family()));
  }
  return preset->shape;
}

}  // namespace

const std::vector<ModelPreset>& ModelPresets() {
  // clang-format off
  static const auto& presets = *new std::vector<ModelPreset>{
      {"gpt2-nano", Gpt2(3, 4, 64, 256)},
      {"gpt2-micro", Gpt2(4, 4, 128, 512)},
      {"gpt2-mini", Gpt2(6, 6, 384, 1024)},
      {"gpt2-124m", Gpt2(12, 12, 768, 1024)},
      {"gpt2-355m", Gpt2(24, 16, 1024, 1024)},
      {"gpt2-774m", Gpt2(36, 20, 1280, 1024)},
      {"gpt2-1558m", Gpt2(48, 25, 1600, 1024)},
      {"llama-nano", Llama(3, 4, 2, 64, 192, 256, 1e-5)},
      {"llama-micro", Llama(4, 4, 2, 128, 384, 512, 1e-5)},
      {"llama-7b", Llama(32, 32, 0, 4096, 11008, 2048, 1e-6)},
      {"llama-13b", Llama(40, 40, 0, 5120, 13824, 2048, 1e-6)},
      {"llama-33b", Llama(60, 52, 0, 6656, 17920, 2048, 1e-6)},
      {"llama-65b", Llama(80, 64, 0, 8192, 22016, 2048, 1e-5)},
      {"llama-2-7b", Llama(32, 32, 0, 4096, 11008, 4096, 1e-5)},
      {"llama-2-13b", Llama(40, 40, 0, 5120, 13824, 4096, 1e-5)},
      {"llama-2-70b", Llama(80, 64, 8, 8192, 28672, 4096, 1e-5)},
      {"llama-3-8b", Llama3(32, 32, 4096, 14336)},
      {"llama-3-70b", Llama3(80, 64, 8192, 28672)},
      {"llama-3-405b", Llama31(Llama3(126, 128, 16384, 53248), 8)},
      {"llama-3.2-1b", TiedHead(Llama31(Llama3(16, 32, 2048, 8192), 32))},
      {"llama-3.2-3b", TiedHead(Llama31(Llama3(28, 24, 3072, 8192), 32))},
      {"bloom-nano", Bloom(3, 4, 64, 256)},
      {"bloom-micro", Bloom(4, 4, 128, 512)},
      {"bloom-560m", Bloom(24, 16, 1024, 2048)},
      {"bloom-1b1", Bloom(24, 16, 1536, 2048)},
      {"bloom-1b7", Bloom(24, 16, 2048, 2048)},
      {"bloom-3b", Bloom(30, 32, 2560, 2048)},
      {"bloom-7b1", Bloom(30, 32, 4096, 2048)},
      {"bloom-176b", Bloom(70, 112, 14336, 2048)},
  };
  // clang-format on
  return presets;
}

const ModelPreset* FindModelPreset(absl::string_view name) {
  for (const ModelPreset& preset : ModelPresets()) {
    if (preset.name == name) return &preset;
  }
  return nullptr;
}

absl::StatusOr<int32_t> ResolveVocabulary(const v1alpha1::ModelSpec& spec,
                                          int32_t tokenizer_vocabulary) {
  if (tokenizer_vocabulary < 1 && spec.vocabulary() < 1) {
    return absl::InvalidArgumentError("the model's vocabulary is unknown: set model.vocabulary");
  }
  if (spec.vocabulary() > 0 && spec.vocabulary() < tokenizer_vocabulary) {
    return absl::InvalidArgumentError(absl::StrCat("model.vocabulary ", spec.vocabulary(),
                                                   " is smaller than the tokenizer's ",
                                                   tokenizer_vocabulary));
  }
  if (spec.vocabulary() > 0) return spec.vocabulary();
  const int64_t padded = (int64_t{tokenizer_vocabulary} + kVocabularyMultiple - 1) /
                         kVocabularyMultiple * kVocabularyMultiple;
  return static_cast<int32_t>(std::min<int64_t>(padded, std::numeric_limits<int32_t>::max()));
}

absl::StatusOr<ModelShape> ResolveModel(const v1alpha1::ModelSpec& spec,
                                        int32_t tokenizer_vocabulary) {
  absl::StatusOr<ModelShape> start = StartingShape(spec);
  if (!start.ok()) return start.status();
  ModelShape shape = *start;
  if (absl::Status status = CheckOptions(spec, shape.family); !status.ok()) return status;
  if (spec.has_layers()) shape.layers = spec.layers();
  if (spec.has_heads()) shape.heads = spec.heads();
  if (spec.has_width()) shape.width = spec.width();
  if (spec.has_positions()) shape.positions = spec.positions();
  if (spec.has_key_value_heads()) shape.key_value_heads = spec.key_value_heads();
  if (spec.has_feed_forward_width()) shape.feed_forward_width = spec.feed_forward_width();
  if (spec.has_tied_head()) shape.tied_head = spec.tied_head();
  if (spec.has_norm_epsilon()) shape.norm_epsilon = spec.norm_epsilon();
  ReadRope(spec.rope(), shape);
  shape.dropout = spec.dropout();
  if (absl::Status status = CheckShape(shape); !status.ok()) return status;
  const absl::StatusOr<int32_t> vocabulary = ResolveVocabulary(spec, tokenizer_vocabulary);
  if (!vocabulary.ok()) return vocabulary.status();
  shape.vocabulary = *vocabulary;
  return CompleteShape(shape);
}

}  // namespace muster::planner
