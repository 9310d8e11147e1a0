#ifndef MUSTER_PLANNER_MODEL_PRESETS_H_
#define MUSTER_PLANNER_MODEL_PRESETS_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "planner/model_shape.h"
#include "proto/muster/v1alpha1/training_job.pb.h"

namespace muster::planner {

// The models that a job can name. Pure, thread-safe.

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

}  // namespace muster::planner

#endif  // MUSTER_PLANNER_MODEL_PRESETS_H_
