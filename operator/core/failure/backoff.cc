#include "operator/core/failure/backoff.h"

#include <cstdint>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "base/hash.h"
#include "operator/core/state/spec_values.h"

namespace muster::control {
namespace {

// Maps `text` to a number in [0, 1), equal on every machine.
double Fraction(std::string_view text) {
  uint64_t hash = Fnv1a(text);
  hash = (hash ^ (hash >> 31)) * 0x9E3779B97F4A7C15u;
  return static_cast<double>(hash >> 11) / static_cast<double>(uint64_t{1} << 53);
}

}  // namespace

absl::Duration Backoff(int streak, const BackoffBounds& bounds, absl::string_view seed) {
  const absl::Duration wait = BackoffAfter(streak, bounds);
  return wait + wait * (Fraction(absl::StrCat(seed, "/", streak)) / 4);
}

absl::Duration Backoff(const Draft& draft, int streak, absl::string_view what) {
  return Backoff(streak, RetryBackoff(draft.spec(), draft.options.backoff),
                 absl::StrCat(draft.view.job.uid, "/", what));
}

}  // namespace muster::control
