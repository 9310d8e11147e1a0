#include "trainer/checkpoint/data_type.h"

#include <cstddef>

namespace muster::trainer {
namespace {

struct Row {
  DataType type;
  std::string_view name;
  uint64_t bytes;
};
constexpr Row kRows[] = {
    {DataType::kF64, "F64", 8},   {DataType::kF32, "F32", 4}, {DataType::kF16, "F16", 2},
    {DataType::kBF16, "BF16", 2}, {DataType::kI64, "I64", 8}, {DataType::kI32, "I32", 4},
    {DataType::kI16, "I16", 2},   {DataType::kI8, "I8", 1},   {DataType::kU8, "U8", 1},
    {DataType::kBool, "BOOL", 1},
};

const Row& RowOf(DataType type) { return kRows[static_cast<size_t>(type)]; }

}  // namespace

std::string_view Name(DataType type) { return RowOf(type).name; }

std::optional<DataType> ParseDataType(std::string_view name) {
  for (const Row& row : kRows) {
    if (row.name == name) return row.type;
  }
  return std::nullopt;
}

uint64_t ElementBytes(DataType type) { return RowOf(type).bytes; }

std::optional<uint64_t> ElementCount(const std::vector<int64_t>& shape) {
  // An element has eight bytes at most, so bytes stay below 2^62.
  constexpr uint64_t kMost = uint64_t{1} << 59;
  uint64_t count = 1;
  bool empty = false;
  for (const int64_t dimension : shape) {
    if (dimension < 0) return std::nullopt;
    if (dimension == 0) {
      empty = true;
      continue;
    }
    if (static_cast<uint64_t>(dimension) > kMost / count) return std::nullopt;
    count *= static_cast<uint64_t>(dimension);
  }
  return empty ? 0 : count;
}

}  // namespace muster::trainer
