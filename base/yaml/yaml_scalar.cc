#include "base/yaml/yaml_scalar.h"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"

namespace muster {
namespace {

size_t CountDigits(absl::string_view text) {
  size_t n = 0;
  while (n < text.size() && absl::ascii_isdigit(static_cast<unsigned char>(text[n]))) ++n;
  return n;
}

// Returns nullopt if it has no digits or does not fit.
std::optional<Json> Integer(absl::string_view unsigned_text, bool negative) {
  uint64_t value = 0;
  if (!absl::SimpleAtoi(unsigned_text, &value)) return std::nullopt;
  constexpr uint64_t kMax = static_cast<uint64_t>(INT64_MAX);
  if (!negative && value > kMax) return Json(value);
  if (negative && value > kMax) return std::nullopt;
  const int64_t number = static_cast<int64_t>(value);
  return Json(negative ? -number : number);
}

std::optional<Json> Based(absl::string_view digits, int base) {
  uint64_t value = 0;
  if (digits.empty() || digits.size() > 16) return std::nullopt;
  for (const char c : digits) {
    const int lower = absl::ascii_tolower(static_cast<unsigned char>(c));
    const int digit = absl::ascii_isdigit(static_cast<unsigned char>(c)) ? c - '0'
                      : lower >= 'a' && lower <= 'f'                     ? lower - 'a' + 10
                                                                         : 16;
    if (digit >= base) return std::nullopt;
    value = value * static_cast<uint64_t>(base) + static_cast<uint64_t>(digit);
  }
  return Json(value);
}

// Matches: digits [. digits] [e [+-] digits], or . digits ...
bool IsFloat(absl::string_view text) {
  const size_t whole = CountDigits(text);
  text.remove_prefix(whole);
  size_t fraction = 0;
  if (absl::StartsWith(text, ".")) {
    text.remove_prefix(1);
    fraction = CountDigits(text);
    text.remove_prefix(fraction);
  }
  if (whole + fraction == 0) return false;
  if (text.empty()) return true;
  if (text[0] != 'e' && text[0] != 'E') return false;
  text.remove_prefix(1);
  if (!text.empty() && (text[0] == '+' || text[0] == '-')) text.remove_prefix(1);
  return !text.empty() && CountDigits(text) == text.size();
}

std::optional<Json> Number(absl::string_view text) {
  const bool sign = text[0] == '-' || text[0] == '+';
  const absl::string_view digits = sign ? text.substr(1) : text;
  if (!sign && absl::StartsWith(text, "0x")) return Based(text.substr(2), 16);
  if (!sign && absl::StartsWith(text, "0o")) return Based(text.substr(2), 8);
  const size_t whole = CountDigits(digits);
  if (whole > 1 && digits[0] == '0') return std::nullopt;
  if (whole > 0 && whole == digits.size()) return Integer(digits, text[0] == '-');
  double value = 0;
  if (!IsFloat(digits) || !absl::SimpleAtod(text, &value) || !std::isfinite(value)) {
    return std::nullopt;
  }
  return Json(value);
}

}  // namespace

Json ResolvePlainScalar(absl::string_view text) {
  if (text.empty() || text == "~" || text == "null" || text == "Null" || text == "NULL") {
    return Json();
  }
  if (text == "true" || text == "True" || text == "TRUE") return Json(true);
  if (text == "false" || text == "False" || text == "FALSE") return Json(false);
  if (std::optional<Json> number = Number(text)) return *std::move(number);
  return Json(std::string(text));
}

}  // namespace muster
