#include "operator/runtime/quantity.h"

#include <cctype>
#include <cmath>
#include <limits>
#include <string>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace muster::control {
namespace {

constexpr std::pair<std::string_view, double> kSuffixes[] = {
    {"", 1},        {"n", 1e-9},    {"u", 1e-6},    {"m", 1e-3},    {"k", 1e3},     {"M", 1e6},
    {"G", 1e9},     {"T", 1e12},    {"P", 1e15},    {"E", 1e18},    {"Ki", 0x1p10}, {"Mi", 0x1p20},
    {"Gi", 0x1p30}, {"Ti", 0x1p40}, {"Pi", 0x1p50}, {"Ei", 0x1p60},
};

// The length of the decimal number that `text` starts with, exponent included.
size_t NumberLength(std::string_view text) {
  size_t end = 0;
  while (end < text.size() &&
         (std::isdigit(static_cast<unsigned char>(text[end])) != 0 || text[end] == '.')) {
    ++end;
  }
  // "1E" is a suffix, "1E3" an exponent.
  if (end + 1 < text.size() && (text[end] == 'e' || text[end] == 'E')) {
    size_t digits = end + 1;
    if (text[digits] == '+' || text[digits] == '-') ++digits;
    if (digits < text.size() && std::isdigit(static_cast<unsigned char>(text[digits])) != 0) {
      while (digits < text.size() && std::isdigit(static_cast<unsigned char>(text[digits])) != 0) {
        ++digits;
      }
      end = digits;
    }
  }
  return end;
}

}  // namespace

absl::StatusOr<int64_t> ParseQuantityMillis(std::string_view text) {
  const std::string shown(text);
  const size_t length = NumberLength(text);
  double number = 0;
  if (length == 0 || !absl::SimpleAtod(shown.substr(0, length), &number)) {
    return absl::InvalidArgumentError(absl::StrCat("'", shown, "' is not a quantity"));
  }
  for (const auto& [suffix, factor] : kSuffixes) {
    if (text.substr(length) != suffix) continue;
    const double millis = std::ceil(number * factor * 1000);
    constexpr double kMost = 9.2e18;
    return millis >= kMost ? std::numeric_limits<int64_t>::max() : static_cast<int64_t>(millis);
  }
  return absl::InvalidArgumentError(
      absl::StrCat("'", shown, "' is not a quantity: unknown suffix '", shown.substr(length), "'"));
}

}  // namespace muster::control
