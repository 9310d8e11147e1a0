#ifndef MUSTER_BASE_TESTING_PATIENCE_H_
#define MUSTER_BASE_TESTING_PATIENCE_H_

#include "absl/time/time.h"

namespace muster {

// The longest that a test waits for what must happen, in real time. A wait ends with its event, so
// a test that passes does not take this long: it is for a machine that runs many tests at once, and
// less than the shortest time limit of a test (.bazelrc), so that a wait that fails says what for.
inline constexpr absl::Duration kPatience = absl::Minutes(3);
inline constexpr int kPatienceMillis = 180'000;  // the same for poll()

}  // namespace muster

#endif  // MUSTER_BASE_TESTING_PATIENCE_H_
