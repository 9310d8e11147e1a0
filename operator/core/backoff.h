#ifndef MUSTER_OPERATOR_CORE_BACKOFF_H_
#define MUSTER_OPERATOR_CORE_BACKOFF_H_

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "operator/core/draft.h"

namespace muster::control {

// The wait before attempt `streak` + 1 of something that went wrong `streak` times in a row: none
// after the first, then `base`, doubling up to `cap`; and up to a quarter of that on top, which
// depends on `seed` and `streak` alone. Pure.
absl::Duration Backoff(int streak, absl::Duration base, absl::Duration cap, absl::string_view seed);

// With the job's own bounds; `what` tells the job's waits apart.
absl::Duration Backoff(const Draft& draft, int streak, absl::string_view what);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_CORE_BACKOFF_H_
