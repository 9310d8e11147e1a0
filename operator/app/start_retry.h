#ifndef MUSTER_OPERATOR_APP_START_RETRY_H_
#define MUSTER_OPERATOR_APP_START_RETRY_H_

#include <functional>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "base/backoff.h"
#include "base/clock.h"

namespace muster::control {

// The waits between attempts.
inline constexpr BackoffBounds kStartBackoff = {absl::Milliseconds(100), absl::Seconds(5)};

// Makes attempts to call the API server, with `wait` between them, until one succeeds or fails with
// an error that is not retriable. The last one begins before kReachDeadline (cache_sync_timeout.h),
// so that a server that restarts does not end the operator. Returns the last attempt's status.
absl::Status RetryAtStart(const Clock& clock, const std::function<absl::Status()>& attempt,
                          const std::function<void(absl::Duration)>& wait);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_APP_START_RETRY_H_
