#include "base/yaml/yaml_scalar.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"

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

// `digits` is `text` without its sign. A whole number is an integer, as it is in the JSON that
// kubectl makes.
std::optional<Json> Float(absl::string_view text, absl::string_view digits) {
  constexpr double kMostExact = 9007199254740992.0;
  double value = 0;
  if (!IsFloat(digits) || !absl::SimpleAtod(text, &value) || !std::isfinite(value)) {
    return std::nullopt;
  }
  const bool whole = std::trunc(value) == value && std::abs(value) <= kMostExact;
  return whole ? Json(static_cast<int64_t>(value)) : Json(value);
}

std::optional<Json> Number(absl::string_view text) {
  const bool sign = text[0] == '-' || text[0] == '+';
  const absl::string_view digits = sign ? text.substr(1) : text;
  if (!sign && absl::StartsWith(text, "0x")) return Based(text.substr(2), 16);
  if (!sign && absl::StartsWith(text, "0o")) return Based(text.substr(2), 8);
  const size_t whole = CountDigits(digits);
  if (whole > 1 && digits[0] == '0') return std::nullopt;
  if (whole > 0 && whole == digits.size()) return Integer(digits, text[0] == '-');
  return Float(text, digits);
}

bool IsOneOf(absl::string_view text, std::initializer_list<absl::string_view> words) {
  return std::find(words.begin(), words.end(), text) != words.end();
}

// Returns an integer as Go's strconv reads it in base 0: 0x1F, 0o17, 017 and 0b11, with a sign.
std::optional<Json> GoInteger(absl::string_view text) {
  const bool negative = absl::ConsumePrefix(&text, "-");
  if (!negative) absl::ConsumePrefix(&text, "+");
  std::optional<Json> value;
  if (text.size() < 2 || text[0] != '0') {
    if (CountDigits(text) == text.size()) value = Integer(text, /*negative=*/false);
  } else {
    const char kind = absl::ascii_tolower(static_cast<unsigned char>(text[1]));
    const int base = kind == 'x' ? 16 : kind == 'b' ? 2 : 8;
    text.remove_prefix(kind == 'x' || kind == 'b' || kind == 'o' ? 2 : 1);
    value = Based(text, base);
  }
  if (!value.has_value() || !negative) return value;
  const uint64_t size = value->get<uint64_t>();
  if (size > uint64_t{1} << 63) return std::nullopt;
  return Json(static_cast<int64_t>(0 - size));
}

// Go's reader takes `_` out of what begins with a digit or a sign. Behind a point it stands between
// digits alone.
bool HasStrayUnderscore(absl::string_view text) {
  const auto is_digit = [text](size_t i) {
    return i < text.size() && absl::ascii_isdigit(static_cast<unsigned char>(text[i]));
  };
  for (size_t i = 1; i < text.size(); ++i) {
    if (text[i] == '_' && (!is_digit(i - 1) || !is_digit(i + 1))) return true;
  }
  return false;
}

std::optional<Json> ValueForKubectl(absl::string_view text) {
  if (IsOneOf(text, {"y", "Y", "yes", "Yes", "YES", "on", "On", "ON"})) return Json(true);
  if (IsOneOf(text, {"n", "N", "no", "No", "NO", "off", "Off", "OFF"})) return Json(false);
  constexpr absl::string_view kFirstOfNumbers = "+-.0123456789";
  if (text.empty() || !absl::StrContains(kFirstOfNumbers, text[0])) return std::nullopt;
  if (text[0] == '.' && HasStrayUnderscore(text)) return std::nullopt;
  const std::string plain = absl::StrReplaceAll(text, {{"_", ""}});
  if (std::optional<Json> integer = GoInteger(plain)) return integer;
  // It takes a sign behind 0b, too.
  for (const char* sign : {"-", "+"}) {
    absl::string_view bits = plain;
    if (absl::ConsumePrefix(&bits, "0b") && absl::StartsWith(bits, sign)) {
      return GoInteger(absl::StrCat(sign, "0b", bits.substr(1)));
    }
  }
  const bool sign = absl::StartsWith(plain, "-") || absl::StartsWith(plain, "+");
  return Float(plain, absl::string_view(plain).substr(sign ? 1 : 0));
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

std::optional<Json> OtherValueForKubectl(absl::string_view text) {
  std::optional<Json> other = ValueForKubectl(text);
  if (other.has_value() && *other == ResolvePlainScalar(text)) return std::nullopt;
  return other;
}

}  // namespace muster
