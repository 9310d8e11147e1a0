#ifndef MUSTER_OPERATOR_APP_CACHE_SYNC_TIMEOUT_H_
#define MUSTER_OPERATOR_APP_CACHE_SYNC_TIMEOUT_H_

#include "absl/time/time.h"

namespace muster::control {

// A server that cannot be asked is given up after the first, one whose answers are long after the
// second.
inline constexpr absl::Duration kReachDeadline = absl::Seconds(30);
inline constexpr absl::Duration kSyncDeadline = absl::Minutes(10);

// Whether the first lists have had their time. Both are counted from the start; `failed` is the
// newest failure, below zero when there was none. An early failure is no sign that what goes on
// since fails, too.
inline bool SyncTookTooLong(absl::Duration waited, absl::Duration failed) {
  return waited >= (failed > waited / 2 ? kReachDeadline : kSyncDeadline);
}

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_APP_CACHE_SYNC_TIMEOUT_H_
