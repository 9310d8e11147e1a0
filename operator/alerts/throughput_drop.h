#ifndef MUSTER_OPERATOR_ALERTS_THROUGHPUT_DROP_H_
#define MUSTER_OPERATOR_ALERTS_THROUGHPUT_DROP_H_

#include <cstddef>
#include <cstdint>
#include <optional>

#include "absl/time/time.h"
#include "operator/alerts/finding.h"
#include "operator/alerts/training_history.h"

namespace muster::control {

struct ThroughputDropRule {
  double factor = 0;
  absl::Duration hold;  // the time for which training must be slow
};

// The speed is measured over windows, each at least this long or as long as the rule's time if that
// is shorter.
inline constexpr absl::Duration kSpeedWindow = absl::Seconds(30);

struct ThroughputDropMemory {
  int64_t round = 0;
  double best = 0;  // tokens per second of the fastest window of `round`
  // The open window; absent before the first step.
  std::optional<int64_t> begin_us;
  int64_t last_us = 0;
  // A script may claim any number of tokens, and the window stays open while its clock stands
  // still.
  double tokens = 0;
  // The time of the newest windows in a row that were slow, and of those that were not.
  absl::Duration slow;
  absl::Duration fast;
};

// Policy: fires when the windows of at least rule.hold in a row are slower than rule.factor times
// the fastest window of the round, and ceases to fire when those of at least rule.hold in a row are
// not. Each round is measured anew. Only the workers' own times count, so clocks that differ do
// not matter. The new steps begin at history.steps[first_new]; `gap` says that steps before them
// are missing.
Finding CheckThroughputDrop(const ThroughputDropRule& rule, const TrainingHistory& history,
                            size_t first_new, bool gap, bool firing, ThroughputDropMemory& memory);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_ALERTS_THROUGHPUT_DROP_H_
