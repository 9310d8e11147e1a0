#ifndef MUSTER_PLANNER_MODEL_PRESETS_H_
#define MUSTER_PLANNER_MODEL_PRESETS_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "planner/logits_rows.h"
#include "planner/model_shape.h"
#include "proto/muster/v1alpha1/training_job.pb.h"

namespace muster::planner {

// The models that a job can name, and their requirements. Pure arithmetic; sizes are in bytes
// unless a name says otherwise. Thread-safe: no state.

struct ModelPreset {
  absl::string_view name;
  ModelShape shape;  // without vocabulary; a 0 is the family's own value
};

// Returns the presets by family, each family's smallest first.
const std::vector<ModelPreset>& ModelPresets();
// Returns null if there is no such preset.
const ModelPreset* FindModelPreset(absl::string_view name);

// Applies the spec's changes to its preset, or to its family. The vocabulary is the spec's, or, if
// that is 0, `tokenizer_vocabulary` padded to a multiple of 64. Fails for an unknown preset, an
// impossible shape (CheckShape), and a vocabulary smaller than the tokenizer's. The shape is
// complete.
absl::StatusOr<ModelShape> ResolveModel(const v1alpha1::ModelSpec& spec,
                                        int32_t tokenizer_vocabulary);

// Returns the vocabulary alone, by the same rules.
absl::StatusOr<int32_t> ResolveVocabulary(const v1alpha1::ModelSpec& spec,
                                          int32_t tokenizer_vocabulary);

enum class Precision { kFp32, kBf16, kFp64 };
enum class OptimizerKind { kAdamW, kSgd, kSgdMomentum };
absl::StatusOr<Precision> ParsePrecision(absl::string_view name);
// `momentum` distinguishes plain SGD, which keeps no state, from SGD with a momentum buffer.
absl::StatusOr<OptimizerKind> ParseOptimizer(absl::string_view name, double momentum);

// The peak memory of one rank with plain data parallelism, an estimate that errs on the high side.
struct MemoryEstimate {
  int64_t parameters = 0;
  int64_t gradients = 0;
  int64_t optimizer = 0;
  // Activations of one micro-batch that all layers save for the backward pass.
  int64_t activations = 0;
  // A chunk of a micro-batch's logits, and the gradients that are computed along with it.
  int64_t logits = 0;
  // The copy that a checkpoint is written from.
  int64_t checkpoint_copy = 0;
  // Program, libraries and buffers, independent of the model.
  int64_t fixed = 0;

  int64_t Total() const {
    return parameters + gradients + optimizer + activations + logits + checkpoint_copy + fixed;
  }
};

MemoryEstimate EstimateMemory(const ModelShape& shape, Precision precision, int32_t micro_batch,
                              int32_t sequence, OptimizerKind optimizer,
                              LogitsPlace place = LogitsPlace::kCpu);

// Returns the part of EstimateMemory() that follows from the number of parameters alone: all but
// activations and logits.
MemoryEstimate EstimateState(int64_t parameters, Precision precision, OptimizerKind optimizer);

// The parts of a rank's state that rest in files while they are not in use. Weights need stage 3.
struct OffloadedParts {
  bool optimizer = false;
  bool weights = false;
};

// Returns the memory of one of `shards` ranks that divide the state as a stage of ZeRO says
// (Rajbhandari et al., 2020), from `whole`, that of a rank which holds it all. Of divided gradients
// and values the rank also has those of the blocks that are in use as a whole. What it offloads is
// in memory for the units in use only; the copy that a checkpoint is written from has all of it.
MemoryEstimate DivideMemory(const MemoryEstimate& whole, const ModelShape& shape, int zero,
                            int shards, const OffloadedParts& offloaded = {});
// The same for a model of so many parameters, of which the unit with most has `largest_unit`.
MemoryEstimate DivideState(const MemoryEstimate& whole, int64_t parameters, int64_t largest_unit,
                           int zero, int shards);

// Returns EstimateMemory(...).Total().
int64_t MemoryBytes(const ModelShape& shape, Precision precision, int32_t micro_batch,
                    int32_t sequence, OptimizerKind optimizer);

}  // namespace muster::planner

#endif  // MUSTER_PLANNER_MODEL_PRESETS_H_
