#include "planner/model_presets.h"

#include <algorithm>
#include <limits>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

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

absl::Status CheckShape(const ModelShape& shape) {
  if (shape.layers < 1 || shape.heads < 1 || shape.width < 1 || shape.positions < 1) {
    return absl::InvalidArgumentError(
        "a model needs a preset, or all of layers, heads, width and positions, each at least 1");
  }
  if (shape.width % shape.heads != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("width ", shape.width, " is not a multiple of heads ", shape.heads));
  }
  if (shape.dropout < 0 || shape.dropout >= 1) {
    return absl::InvalidArgumentError(absl::StrCat("dropout ", shape.dropout, " is not in [0, 1)"));
  }
  return absl::OkStatus();
}

}  // namespace

const std::vector<ModelPreset>& ModelPresets() {
  static const auto& presets = *new std::vector<ModelPreset>{
      {"gpt2-nano", 3, 4, 64, 256},       {"gpt2-micro", 4, 4, 128, 512},
      {"gpt2-mini", 6, 6, 384, 1024},     {"gpt2-124m", 12, 12, 768, 1024},
      {"gpt2-355m", 24, 16, 1024, 1024},  {"gpt2-774m", 36, 20, 1280, 1024},
      {"gpt2-1558m", 48, 25, 1600, 1024},
  };
  return presets;
}

const ModelPreset* FindModelPreset(absl::string_view name) {
  for (const ModelPreset& preset : ModelPresets()) {
    if (preset.name == name) return &preset;
  }
  return nullptr;
}

absl::StatusOr<ModelShape> ResolveModel(const v1alpha1::ModelSpec& spec,
                                        int32_t tokenizer_vocabulary) {
  ModelShape shape;
  if (spec.has_preset()) {
    const ModelPreset* preset = FindModelPreset(spec.preset());
    if (preset == nullptr) {
      return absl::InvalidArgumentError(
          absl::StrCat("no model preset \"", spec.preset(), "\"; there are ", PresetNames()));
    }
    shape = {preset->layers, preset->heads, preset->width, preset->positions, 0, 0};
  }
  if (spec.has_layers()) shape.layers = spec.layers();
  if (spec.has_heads()) shape.heads = spec.heads();
  if (spec.has_width()) shape.width = spec.width();
  if (spec.has_positions()) shape.positions = spec.positions();
  shape.dropout = spec.dropout();
  if (absl::Status status = CheckShape(shape); !status.ok()) return status;

  if (tokenizer_vocabulary < 1 && spec.vocabulary() < 1) {
    return absl::InvalidArgumentError("the model's vocabulary is unknown: set model.vocabulary");
  }
  if (spec.vocabulary() > 0) {
    if (spec.vocabulary() < tokenizer_vocabulary) {
      return absl::InvalidArgumentError(absl::StrCat("model.vocabulary ", spec.vocabulary(),
                                                     " is smaller than the tokenizer's ",
                                                     tokenizer_vocabulary));
    }
    shape.vocabulary = spec.vocabulary();
  } else {
    const int64_t padded = (int64_t{tokenizer_vocabulary} + kVocabularyMultiple - 1) /
                           kVocabularyMultiple * kVocabularyMultiple;
    shape.vocabulary =
        static_cast<int32_t>(std::min<int64_t>(padded, std::numeric_limits<int32_t>::max()));
  }
  return shape;
}

int64_t ParameterCount(const ModelShape& shape) {
  const int64_t c = shape.width;
  // Per block: qkv 3c^2+3c, attention projection c^2+c, MLP 8c^2+5c, two LayerNorms 4c.
  const int64_t block = 12 * c * c + 13 * c;
  return (int64_t{shape.vocabulary} + shape.positions) * c + shape.layers * block + 2 * c;
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

MemoryEstimate EstimateMemory(const ModelShape& shape, Precision precision, int32_t micro_batch,
                              int32_t sequence, OptimizerKind optimizer) {
  const int64_t p = ParameterCount(shape);
  const int64_t element = ElementBytes(precision);
  const int64_t compute = ComputeBytes(precision);
  const int64_t tokens = int64_t{micro_batch} * sequence;

  MemoryEstimate memory;
  // BF16 computes from a copy of the FP32 master weights.
  memory.parameters = p * (element + (precision == Precision::kBf16 ? 2 : 0));
  // The reduced gradient stays sealed until every unit carries the step; each rank's own
  // contribution is overwritten by the reduction.
  memory.gradients = p * element;
  const int64_t moments = optimizer == OptimizerKind::kAdamW         ? 2
                          : optimizer == OptimizerKind::kSgdMomentum ? 1
                                                                     : 0;
  memory.optimizer = p * element * moments;
  // Saved per token and layer: block input, two norm outputs, q k v, attention output, projection,
  // residual (9c in all), MLP before and after GELU (4c each), plus two dropout masks of a byte.
  int64_t saved = tokens * shape.width * 17 * compute;
  if (shape.dropout > 0) {
    // CPU flash attention takes no dropout, so the probabilities and their mask are kept.
    saved += 2 * tokens * shape.width;
    saved += int64_t{micro_batch} * shape.heads * sequence * sequence * (2 * compute + 1);
  }
  memory.activations = saved * shape.layers + tokens * shape.width * compute;
  // Logits in compute precision; log-softmax and gradient in at least FP32.
  memory.logits = tokens * shape.vocabulary * (compute + 2 * element);
  memory.checkpoint_copy = p * element * (1 + moments);
  memory.fixed = kFixedBytes;
  return memory;
}

int64_t MemoryBytes(const ModelShape& shape, Precision precision, int32_t micro_batch,
                    int32_t sequence, OptimizerKind optimizer) {
  return EstimateMemory(shape, precision, micro_batch, sequence, optimizer).Total();
}

}  // namespace muster::planner
