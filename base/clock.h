#ifndef MUSTER_BASE_CLOCK_H_
#define MUSTER_BASE_CLOCK_H_

#include "absl/time/time.h"

namespace muster {

// The seam to time. Deadlines and durations use Monotonic(), which never steps backwards; Wall() is
// only for times that people or files read (conditions, logs). Thread-safe.
class Clock {
 public:
  virtual ~Clock() = default;

  // Time since an arbitrary fixed point, as an absl::Time so that arithmetic reads naturally. Never
  // print it and never compare it with Wall().
  virtual absl::Time Monotonic() const = 0;
  virtual absl::Time Wall() const = 0;

  // The machine's clocks. Lives forever.
  static const Clock& Real();
  // The same, but Monotonic() also counts the time that the machine was suspended, for deadlines
  // that others measure meanwhile, such as leases. Lives forever.
  static const Clock& Boot();
};

}  // namespace muster

#endif  // MUSTER_BASE_CLOCK_H_
