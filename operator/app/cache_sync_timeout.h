#ifndef MUSTER_OPERATOR_APP_CACHE_SYNC_TIMEOUT_H_
#define MUSTER_OPERATOR_APP_CACHE_SYNC_TIMEOUT_H_

#include "absl/time/time.h"

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

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_APP_CACHE_SYNC_TIMEOUT_H_
