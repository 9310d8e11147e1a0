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

// How long to wait before the next try of what failed `failures` times in a row: nothing without a
// failure, `first` after one, then twice as long each time, at most `longest`. Pure. Whoever could
// meet others at the next try adds some chance of its own.
inline absl::Duration BackoffAfter(int failures, const BackoffBounds& bounds) {
  if (failures <= 0) return absl::ZeroDuration();
  const int doublings = std::min(failures - 1, 30);
  return std::min(bounds.longest, bounds.first * (int64_t{1} << doublings));
}

}  // namespace muster

#endif  // MUSTER_BASE_BACKOFF_H_
