#ifndef MUSTER_TRAINER_CHECKPOINT_WEIGHT_INDEX_H_
#define MUSTER_TRAINER_CHECKPOINT_WEIGHT_INDEX_H_

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace muster::trainer {

// The file of each tensor, by the tensor's name.
using WeightIndex = std::map<std::string, std::string>;

// Parses untrusted bytes: Hugging Face's model.safetensors.index.json. InvalidArgument unless it
// names at least one tensor, each in a file of the index's own directory.
absl::StatusOr<WeightIndex> ParseWeightIndex(std::string_view text);

// Formats the same, for tensors of so many bytes together.
std::string FormatWeightIndex(const WeightIndex& index, uint64_t total_bytes);

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_CHECKPOINT_WEIGHT_INDEX_H_
