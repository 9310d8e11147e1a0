#ifndef MUSTER_OPERATOR_CORE_FAILURE_BACKOFF_H_
#define MUSTER_OPERATOR_CORE_FAILURE_BACKOFF_H_

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "base/backoff.h"
#include "operator/core/state/draft.h"

namespace muster::control {

// Returns the wait before attempt `streak` + 1 of something that failed `streak` times in a row:
// that of BackoffAfter(), plus up to a quarter of it as jitter, which depends on `seed` and
// `streak` alone. Pure.
absl::Duration Backoff(int streak, const BackoffBounds& bounds, absl::string_view seed);

// Applies the job's own bounds. `what` is part of the seed, so that the job's waits differ.
absl::Duration Backoff(const Draft& draft, int streak, absl::string_view what);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_CORE_FAILURE_BACKOFF_H_
