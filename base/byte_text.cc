#include "base/byte_text.h"

#include <cstddef>
#include <iterator>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/strip.h"

namespace muster {

std::string ByteText(int64_t bytes) {
  const char* const names[] = {"bytes", "KiB", "MiB", "GiB", "TiB"};
  auto value = static_cast<double>(bytes);
  size_t unit = 0;
  while (value >= 1024.0 && unit + 1 < std::size(names)) {
    value /= 1024.0;
    ++unit;
  }
  return unit == 0 ? absl::StrCat(bytes, " bytes") : absl::StrFormat("%.1f %s", value, names[unit]);
}

std::optional<int64_t> ParseBytes(absl::string_view text) {
  static constexpr std::pair<absl::string_view, int64_t> kUnits[] = {{"Ki", int64_t{1} << 10},
                                                                     {"Mi", int64_t{1} << 20},
                                                                     {"Gi", int64_t{1} << 30},
                                                                     {"Ti", int64_t{1} << 40},
                                                                     {"k", 1'000},
                                                                     {"M", 1'000'000},
                                                                     {"G", 1'000'000'000},
                                                                     {"T", 1'000'000'000'000},
                                                                     {"", 1}};
  for (const auto& [suffix, unit] : kUnits) {
    absl::string_view digits = text;
    int64_t number = 0;
    if (!absl::ConsumeSuffix(&digits, suffix)) continue;
    if (!absl::SimpleAtoi(digits, &number) || number < 1 || number > INT64_MAX / unit) break;
    return number * unit;
  }
  return std::nullopt;
}

}  // namespace muster
