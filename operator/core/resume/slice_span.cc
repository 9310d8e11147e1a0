#include "operator/core/resume/slice_span.h"

#include <algorithm>
#include <numeric>

#include "absl/strings/str_cat.h"

namespace muster::control {
namespace {

bool Less(const Fraction& a, const Fraction& b) {
  return a.numerator * b.denominator < b.numerator * a.denominator;
}

std::string Text(const Fraction& fraction) {
  const int64_t divisor = std::gcd(fraction.numerator, fraction.denominator);
  const int64_t numerator = fraction.numerator / divisor;
  const int64_t denominator = fraction.denominator / divisor;
  if (denominator == 1) return absl::StrCat(numerator);
  return absl::StrCat(numerator, "/", denominator);
}

}  // namespace

SliceSpan SpanOf(const v1alpha1::StateSlice& slice) {
  const int64_t shards = slice.shards() <= 1 ? 1 : slice.shards();
  const int64_t shard = slice.shard();
  if (shard < 0 || shard >= shards) return {};
  return {{shard, shards}, {shard + 1, shards}};
}

std::optional<SliceSpan> FirstGap(std::vector<SliceSpan> spans) {
  std::sort(spans.begin(), spans.end(),
            [](const SliceSpan& a, const SliceSpan& b) { return Less(a.begin, b.begin); });
  const Fraction whole = {1, 1};
  Fraction covered = {0, 1};
  for (const SliceSpan& span : spans) {
    if (Less(covered, span.begin)) return SliceSpan{covered, span.begin};
    if (Less(covered, span.end)) covered = span.end;
  }
  if (Less(covered, whole)) return SliceSpan{covered, whole};
  return std::nullopt;
}

std::string Text(const SliceSpan& span) {
  return absl::StrCat("the part from ", Text(span.begin), " to ", Text(span.end));
}

}  // namespace muster::control
