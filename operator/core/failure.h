#ifndef MUSTER_OPERATOR_CORE_FAILURE_H_
#define MUSTER_OPERATOR_CORE_FAILURE_H_

#include "absl/time/time.h"
#include "operator/core/draft.h"

namespace muster::control {

// Policy: counts failures, at most one per round, and fails the job when more than
// failurePolicy.maxFailures fall into failurePolicy.window, or at once when a program says that its
// input is bad (exit code 2). Counted: a rank that ended or was killed for its silence, a worker
// that ended with 1, or out of memory. Not counted, because the job is not at fault: pods lost with
// their node, evicted, deleted or killed by a signal, and programs that were refused (exit code 3).
void CountFailures(Draft& draft);

// The wait before attempt `streak` + 1 of something that went wrong `streak` times in a row: none
// after the first, then base, doubling up to the cap.
absl::Duration Backoff(int streak, const DecideOptions& options);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_CORE_FAILURE_H_
