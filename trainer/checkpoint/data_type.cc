#include "trainer/checkpoint/data_type.h"

#include <bit>
#include <cmath>
#include <cstring>

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

float FromBF16(uint16_t bits) { return std::bit_cast<float>(uint32_t{bits} << 16); }

float FromF16(uint16_t bits) {
  const uint32_t sign = uint32_t{bits} >> 15 << 31;
  const uint32_t exponent = uint32_t{bits} >> 10 & 0x1f, fraction = bits & 0x3ff;
  if (exponent == 0) {
    const float small = std::ldexp(static_cast<float>(fraction), -24);
    return sign == 0 ? small : -small;
  }
  // The exponent's bias is 15, and 127 in a float. The largest one marks infinity and NaN.
  const uint32_t wide = exponent == 0x1f ? 0xff : exponent + (127 - 15);
  return std::bit_cast<float>(sign | wide << 23 | fraction << 13);
}

template <typename Stored, typename To, typename Decode>
void ConvertAs(std::span<const std::byte> from, std::span<std::byte> to, Decode decode) {
  const size_t count = to.size() / sizeof(To);
  for (size_t i = 0; i < count; ++i) {
    Stored stored;
    std::memcpy(&stored, from.data() + i * sizeof(Stored), sizeof(Stored));
    const To value = static_cast<To>(decode(stored));
    std::memcpy(to.data() + i * sizeof(To), &value, sizeof(To));
  }
}

template <typename To>
void ConvertTo(DataType type, std::span<const std::byte> from, std::span<std::byte> to) {
  const auto same = [](auto value) { return value; };
  switch (type) {
    case DataType::kF64:
      return ConvertAs<double, To>(from, to, same);
    case DataType::kF32:
      return ConvertAs<float, To>(from, to, same);
    case DataType::kF16:
      return ConvertAs<uint16_t, To>(from, to, FromF16);
    case DataType::kBF16:
      return ConvertAs<uint16_t, To>(from, to, FromBF16);
    default:
      return;
  }
}

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

bool IsFloatingPoint(DataType type) {
  return type == DataType::kF64 || type == DataType::kF32 || type == DataType::kF16 ||
         type == DataType::kBF16;
}

void ConvertNumbers(DataType from_type, std::span<const std::byte> from, DataType to_type,
                    std::span<std::byte> to) {
  if (to_type == DataType::kF64) return ConvertTo<double>(from_type, from, to);
  ConvertTo<float>(from_type, from, to);
}

}  // namespace muster::trainer
