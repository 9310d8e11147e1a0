#ifndef MUSTER_BASE_BACKOFF_H_
#define MUSTER_BASE_BACKOFF_H_

#include <algorithm>
#include <cstdint>

#include "absl/time/time.h"

namespace muster {

struct BackoffBounds {
  absl::Duration first;
  absl::Duration longest;
};

// The shortest wait that a job may ask for between two tries of what fails. Without it, rounds that
// break at once follow each other as fast as an operator can write.
inline constexpr absl::Duration kShortestRetry = absl::Seconds(1);

// Returns the wait before the next attempt after `failures` consecutive failures: zero without a
// failure, `first` after one, then twice as long each time, at most `longest`. Pure; a caller whose
// retries could collide with others' adds jitter of its own.
inline absl::Duration BackoffAfter(int failures, const BackoffBounds& bounds) {
  if (failures <= 0) return absl::ZeroDuration();
  const int doublings = std::min(failures - 1, 30);
  return std::min(bounds.longest, bounds.first * (int64_t{1} << doublings));
}

}  // namespace muster

#endif  // MUSTER_BASE_BACKOFF_H_
