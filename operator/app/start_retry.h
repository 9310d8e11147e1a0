#ifndef MUSTER_OPERATOR_APP_START_RETRY_H_
#define MUSTER_OPERATOR_APP_START_RETRY_H_

#include <functional>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "base/backoff.h"
#include "base/clock.h"

// How long the start of an operator waits for the API server.
namespace muster::control {

// A server that cannot be reached is given up after the first, one whose responses are slow after
// the second.
inline constexpr absl::Duration kReachDeadline = absl::Seconds(30);
inline constexpr absl::Duration kSyncDeadline = absl::Minutes(10);

// Returns true if the first lists took too long. Both times are counted from the start; `failed` is
// that of the newest failure, below zero if there was none. An early failure does not mean that the
// attempts since then fail, too.
inline bool SyncTookTooLong(absl::Duration waited, absl::Duration failed) {
  return waited >= (failed > waited / 2 ? kReachDeadline : kSyncDeadline);
}

// The waits between attempts.
inline constexpr BackoffBounds kStartBackoff = {absl::Milliseconds(100), absl::Seconds(5)};

// Makes attempts to call the API server, with `wait` between them, until one succeeds or fails with
// an error that is not retriable. The last one begins before kReachDeadline, so that a server that
// restarts does not end the operator. Returns the last attempt's status.
absl::Status RetryAtStart(const Clock& clock, const std::function<absl::Status()>& attempt,
                          const std::function<void(absl::Duration)>& wait);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_APP_START_RETRY_H_
