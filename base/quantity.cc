#include "base/quantity.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace muster {
namespace {

using Int128 = absl::int128;

constexpr int kNanoDigits = 9;
constexpr int64_t kNanos = 1'000'000'000;
// Far beyond int64 units, and far enough within 128 bits that many pods can be summed.
const Int128 kMost = absl::MakeInt128(int64_t{1} << 56, 0);

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// A suffix multiplies the number by 2^binary * 10^decimal.
struct Scale {
  int binary = 0;
  int decimal = 0;
};

std::optional<Scale> SuffixScale(std::string_view suffix) {
  struct Entry {
    std::string_view text;
    Scale scale;
  };
  static constexpr Entry kSuffixes[] = {
      {"", {0, 0}},    {"n", {0, -9}},  {"u", {0, -6}},  {"m", {0, -3}},
      {"k", {0, 3}},   {"M", {0, 6}},   {"G", {0, 9}},   {"T", {0, 12}},
      {"P", {0, 15}},  {"E", {0, 18}},  {"Ki", {10, 0}}, {"Mi", {20, 0}},
      {"Gi", {30, 0}}, {"Ti", {40, 0}}, {"Pi", {50, 0}}, {"Ei", {60, 0}},
  };
  for (const Entry& entry : kSuffixes) {
    if (entry.text == suffix) return entry.scale;
  }
  if (suffix.size() < 2 || (suffix[0] != 'e' && suffix[0] != 'E')) return std::nullopt;
  int64_t exponent = 0;
  std::string digits(suffix.substr(1));
  const bool minus = digits[0] == '-';
  if (minus || digits[0] == '+') digits.erase(0, 1);
  if (digits.empty() || !IsDigit(digits[0])) return std::nullopt;
  for (const char c : digits) {
    if (!IsDigit(c)) return std::nullopt;
  }
  if (!absl::SimpleAtoi(digits, &exponent)) return std::nullopt;
  constexpr int64_t kFar = 1000;
  exponent = std::min(exponent, kFar);
  return Scale{0, static_cast<int>(minus ? -exponent : exponent)};
}

struct Parts {
  bool negative = false;
  std::string digits;  // of the whole number and the fraction together
  int fraction = 0;    // how many of them are the fraction
  std::string_view suffix;
};

std::optional<Parts> Split(std::string_view text) {
  Parts parts;
  size_t at = 0;
  auto digits = [&] {
    const size_t from = at;
    while (at < text.size() && IsDigit(text[at])) ++at;
    return text.substr(from, at - from);
  };
  if (text[at] == '+' || text[at] == '-') parts.negative = text[at++] == '-';
  parts.digits = std::string(digits());
  if (at < text.size() && text[at] == '.') {
    ++at;
    const std::string_view fraction = digits();
    parts.fraction = static_cast<int>(fraction.size());
    parts.digits.append(fraction.data(), fraction.size());
  }
  const size_t from = at;
  while (at < text.size() && std::string_view("eEinumkKMGTP").find(text[at]) != text.npos) ++at;
  if (at < text.size() && (text[at] == '+' || text[at] == '-')) ++at;
  digits();
  if (at != text.size()) return std::nullopt;
  parts.suffix = text.substr(from);
  return parts;
}

// Returns digits * 2^binary * 10^decimal, rounded up; kMost if it is more.
// `rest`: nonzero digits were cut off.
Int128 Scaled(std::string_view digits, int binary, int decimal, bool rest) {
  Int128 value = 0;
  for (const char c : digits) {
    if (value > kMost / 10) return kMost;
    value = value * 10 + (c - '0');
  }
  if (value == 0) return 0;
  for (; binary > 0; --binary) {
    if (value > kMost / 2) return kMost;
    value *= 2;
  }
  for (; decimal > 0; --decimal) {
    if (value > kMost / 10) return kMost;
    value *= 10;
  }
  for (; decimal < 0 && value > 0; ++decimal) {
    rest = rest || value % 10 != 0;
    value /= 10;
  }
  return rest || decimal < 0 ? value + 1 : value;
}

int64_t Saturate(Int128 value) {
  if (value > std::numeric_limits<int64_t>::max()) return std::numeric_limits<int64_t>::max();
  if (value < std::numeric_limits<int64_t>::min()) return std::numeric_limits<int64_t>::min();
  return static_cast<int64_t>(value);
}

Int128 CeilDivide(Int128 value, int64_t by) {
  const Int128 quotient = value / by;
  return value % by > 0 ? quotient + 1 : quotient;
}

}  // namespace

absl::StatusOr<Quantity> Quantity::Parse(std::string_view text) {
  const auto refuse = [&] {
    return absl::InvalidArgumentError(absl::StrCat("'", std::string(text), "' is not a quantity"));
  };
  if (text.empty()) return refuse();
  const std::optional<Parts> parts = Split(text);
  if (!parts) return refuse();
  const std::optional<Scale> scale = SuffixScale(parts->suffix);
  if (!scale) return refuse();
  // A suffix alone is zero, or refused where the API machinery takes its slow path.
  if (parts->digits.empty() && (scale->binary > 40 || scale->decimal < -kNanoDigits)) {
    return refuse();
  }
  std::string_view digits = parts->digits;
  while (!digits.empty() && digits.front() == '0') digits.remove_prefix(1);
  // Further digits add less than a billionth: it matters only whether they are all zero.
  int fraction = parts->fraction;
  bool cut = false;
  constexpr size_t kDigits = 34;
  while (digits.size() > kDigits && fraction > 0) {
    cut = cut || digits.back() != '0';
    digits.remove_suffix(1);
    --fraction;
  }
  const Int128 nanos =
      std::min(Scaled(digits, scale->binary, scale->decimal - fraction + kNanoDigits, cut), kMost);
  return Quantity(parts->negative ? -nanos : nanos);
}

int64_t Quantity::Value() const { return Saturate(CeilDivide(nanos_, kNanos)); }

int64_t Quantity::MilliValue() const { return Saturate(CeilDivide(nanos_, kNanos / 1000)); }

bool Quantity::IsAbsurd() const {
  const Int128 value = CeilDivide(nanos_, kNanos);
  return value > std::numeric_limits<int64_t>::max() || value < std::numeric_limits<int64_t>::min();
}

Quantity& Quantity::operator+=(const Quantity& other) {
  nanos_ += other.nanos_;
  if (nanos_ > kMost) nanos_ = kMost;
  if (nanos_ < -kMost) nanos_ = -kMost;
  return *this;
}

}  // namespace muster
