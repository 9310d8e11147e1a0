#ifndef MUSTER_TRAINER_CHECKPOINT_DATA_TYPE_H_
#define MUSTER_TRAINER_CHECKPOINT_DATA_TYPE_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
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

// Returns true for the types of real numbers: F64, F32, F16 and BF16.
bool IsFloatingPoint(DataType type);

// Converts numbers of one floating-point type, `from`, into F32 or F64, `to`. Both spans hold the
// same number of elements. Every value of a narrower type keeps its value; one of a wider type is
// rounded to the nearest.
void ConvertNumbers(DataType from_type, std::span<const std::byte> from, DataType to_type,
                    std::span<std::byte> to);

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_CHECKPOINT_DATA_TYPE_H_
