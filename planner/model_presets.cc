#include "planner/model_presets.h"

#include <algorithm>
#include <limits>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "planner/logits_rows.h"

namespace muster::planner {
namespace {

constexpr int32_t kVocabularyMultiple = 64;

// The memory of a LibTorch program before it holds a model, with room for the allocator.
constexpr int64_t kFixedBytes = int64_t{300} << 20;

int64_t ElementBytes(Precision precision) { return precision == Precision::kFp64 ? 8 : 4; }

// The element size in which the blocks compute and save for the backward pass.
int64_t ComputeBytes(Precision precision) {
  return precision == Precision::kBf16 ? 2 : ElementBytes(precision);
}

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

// Returns the elements that one block saves for the backward pass, per token.
int64_t SavedPerToken(const ModelShape& shape) {
  const int64_t c = shape.width;
  switch (shape.family) {
    case ModelFamily::kGpt2:
    case ModelFamily::kBloom:
      // Block input, two norm outputs, q k v, attention output, projection, residual (9c in all),
      // MLP before and after GELU (4c each).
      return 17 * c;
    case ModelFamily::kLlama:
      // Block input, two norms (input, its normalized form and output each), queries before and
      // after they are turned, attention output, projection, residual (12c in all), keys and values
      // once more for each head of queries, and the MLP's gate, its SiLU, up and their product.
      return 14 * c + 2 * shape.key_value_width() + 4 * int64_t{shape.feed_forward_width};
  }
  return 0;
}

// Returns the bytes that the loss takes of one micro-batch of so many tokens: a chunk of logits,
// which become log-probabilities and their gradient in place, and a chunk's copies in the type of
// products if that is another. Gradients from several chunks are added up in tensors of their own.
int64_t LogitsMemory(const ModelShape& shape, Precision precision, int64_t tokens,
                     LogitsPlace place) {
  const int64_t element = ElementBytes(precision), compute = ComputeBytes(precision);
  const int64_t rows = LogitsRows(tokens, shape.vocabulary, place);
  const int64_t chunk =
      rows * shape.vocabulary * (element + (compute == element ? 0 : 2 * compute));
  return rows == tokens ? chunk : chunk + (shape.vocabulary + tokens) * shape.width * element;
}

// Returns the elements of attention's biases, which all blocks of a rank share.
int64_t SharedBias(const ModelShape& shape, int64_t sequence) {
  return shape.family == ModelFamily::kBloom ? shape.heads * sequence * sequence : 0;
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
  ReadRope(spec.rope(), shape);
  shape.dropout = spec.dropout();
  if (absl::Status status = CheckShape(shape); !status.ok()) return status;
  const absl::StatusOr<int32_t> vocabulary = ResolveVocabulary(spec, tokenizer_vocabulary);
  if (!vocabulary.ok()) return vocabulary.status();
  shape.vocabulary = *vocabulary;
  return CompleteShape(shape);
}

absl::StatusOr<Precision> ParsePrecision(absl::string_view name) {
  if (name == "fp32") return Precision::kFp32;
  if (name == "bf16") return Precision::kBf16;
  if (name == "fp64") return Precision::kFp64;
  return absl::InvalidArgumentError(
      absl::StrCat("no precision \"", name, "\"; there are fp32, bf16, fp64"));
}

absl::StatusOr<OptimizerKind> ParseOptimizer(absl::string_view name, double momentum) {
  if (name == "adamw") return OptimizerKind::kAdamW;
  if (name == "sgd") return momentum > 0 ? OptimizerKind::kSgdMomentum : OptimizerKind::kSgd;
  return absl::InvalidArgumentError(
      absl::StrCat("no optimizer \"", name, "\"; there are adamw, sgd"));
}

MemoryEstimate EstimateState(int64_t parameters, Precision precision, OptimizerKind optimizer) {
  const int64_t bytes = parameters * ElementBytes(precision);
  const int64_t moments = optimizer == OptimizerKind::kAdamW         ? 2
                          : optimizer == OptimizerKind::kSgdMomentum ? 1
                                                                     : 0;
  MemoryEstimate memory;
  memory.parameters = bytes;
  // The reduced gradient stays sealed until every unit carries the step; each rank's own
  // contribution is overwritten by the reduction.
  memory.gradients = bytes;
  memory.optimizer = bytes * moments;
  memory.checkpoint_copy = bytes * (1 + moments);
  memory.fixed = kFixedBytes;
  return memory;
}

MemoryEstimate EstimateMemory(const ModelShape& shape, Precision precision, int32_t micro_batch,
                              int32_t sequence, OptimizerKind optimizer, LogitsPlace place) {
  const int64_t element = ElementBytes(precision);
  const int64_t compute = ComputeBytes(precision);
  const int64_t tokens = int64_t{micro_batch} * sequence;

  MemoryEstimate memory = EstimateState(ParameterCount(shape), precision, optimizer);
  // In BF16 a product is computed from a copy of its weights, of which the head's is the largest.
  const int64_t cast = precision == Precision::kBf16 ? int64_t{shape.vocabulary} * shape.width : 0;
  memory.parameters += 2 * cast;
  int64_t saved = tokens * SavedPerToken(shape) * compute;
  if (shape.dropout > 0) {
    // Two masks of a byte, of the attention's and the MLP's output. CPU flash attention takes no
    // dropout, so the probabilities and their mask are kept.
    saved += 2 * tokens * shape.width;
    saved += int64_t{micro_batch} * shape.heads * sequence * sequence * (2 * compute + 1);
  }
  memory.activations =
      saved * shape.layers + tokens * shape.width * compute + SharedBias(shape, sequence) * element;
  memory.logits = LogitsMemory(shape, precision, tokens, place);
  return memory;
}

MemoryEstimate DivideMemory(const MemoryEstimate& whole, const ModelShape& shape, int zero,
                            int shards, const OffloadedParts& offloaded) {
  const bool divides = zero > 0 && shards > 1;
  const auto share = [&](int64_t bytes) { return divides ? (bytes + shards - 1) / shards : bytes; };
  const int64_t p = ParameterCount(shape), embedding = int64_t{shape.vocabulary} * shape.width;
  const int64_t blocks = p - embedding * (shape.tied_head ? 1 : 2);
  const int64_t block = (blocks + shape.layers - 1) / shape.layers;
  // Returns the bytes, out of `bytes` of all parameters, of so many copies of the embedding's and
  // of so many blocks' as a whole.
  const auto whole_units = [&](int64_t bytes, int64_t embeddings, int64_t block_count) {
    return bytes / p *
           (embeddings * embedding + std::min<int64_t>(block_count, shape.layers) * block);
  };
  MemoryEstimate memory = whole;
  memory.optimizer = share(whole.optimizer);
  memory.checkpoint_copy -= whole.optimizer - memory.optimizer;
  // Two exchanges are under way at once, each with a buffer of its unit's size.
  if (divides) memory.gradients += whole_units(whole.gradients, 1, 1);
  if (divides && zero >= 2) {
    // A block's gradient is computed meanwhile.
    memory.gradients = share(whole.gradients) + whole_units(whole.gradients, 2, 5);
  }
  // One block runs while the next is gathered, perhaps through a buffer.
  const int64_t in_use = whole_units(whole.parameters, 2, 4);
  if (divides && zero >= 3) {
    memory.parameters = share(whole.parameters) + in_use;
    memory.checkpoint_copy = share(whole.checkpoint_copy);
  }
  if (offloaded.weights) memory.parameters = std::min(share(whole.parameters), in_use) + in_use;
  // Memory that a unit has used is kept for the next one of its size.
  if (offloaded.optimizer) {
    memory.optimizer = std::min(memory.optimizer, whole_units(whole.optimizer, 1, 1));
  }
  return memory;
}

MemoryEstimate DivideState(const MemoryEstimate& whole, int64_t parameters, int64_t largest_unit,
                           int zero, int shards) {
  if (zero == 0 || shards <= 1) return whole;
  const auto share = [&](int64_t bytes) { return (bytes + shards - 1) / shards; };
  const int64_t unit = whole.gradients / parameters * largest_unit;
  MemoryEstimate memory = whole;
  memory.optimizer = share(whole.optimizer);
  memory.checkpoint_copy -= whole.optimizer - memory.optimizer;
  // Two exchanges are under way at once, each with a buffer, and from stage 2 on a third unit's
  // gradient is computed meanwhile.
  memory.gradients = zero == 1 ? whole.gradients + 2 * unit : share(whole.gradients) + 3 * unit;
  if (zero >= 3) {
    // One block runs while the next is gathered, perhaps through a buffer.
    memory.parameters = share(whole.parameters) + 3 * unit;
    memory.checkpoint_copy = share(whole.checkpoint_copy);
  }
  return memory;
}

int64_t MemoryBytes(const ModelShape& shape, Precision precision, int32_t micro_batch,
                    int32_t sequence, OptimizerKind optimizer) {
  return EstimateMemory(shape, precision, micro_batch, sequence, optimizer).Total();
}

}  // namespace muster::planner
