#ifndef MUSTER_TRAINER_CHECKPOINT_DATA_TYPE_H_
#define MUSTER_TRAINER_CHECKPOINT_DATA_TYPE_H_

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace muster::trainer {

// Element types of stored tensors, named as in safetensors.
enum class DataType { kF64, kF32, kF16, kBF16, kI64, kI32, kI16, kI8, kU8, kBool };

std::string_view Name(DataType type);  // "F32"
std::optional<DataType> ParseDataType(std::string_view name);
uint64_t ElementBytes(DataType type);
// Returns the number of elements of a shape (1 for a scalar); absent if a dimension is negative or
// the bytes overflow 2^62.
std::optional<uint64_t> ElementCount(const std::vector<int64_t>& shape);

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_CHECKPOINT_DATA_TYPE_H_
