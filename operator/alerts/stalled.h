#ifndef MUSTER_OPERATOR_ALERTS_STALLED_H_
#define MUSTER_OPERATOR_ALERTS_STALLED_H_

#include "absl/time/time.h"
#include "operator/alerts/finding.h"

namespace muster::control {

struct StalledView {
  absl::Time now;                                     // monotonic, as all times here
  absl::Time running_since = absl::InfiniteFuture();  // InfiniteFuture: the job is not running
  absl::Time stepped_at = absl::InfinitePast();       // when the newest step was first seen
  bool has_new_step = false;                          // since the last look
};

struct StalledFinding {
  Finding finding;
  absl::Time due = absl::InfiniteFuture();  // when the rule would fire
};

// Policy: fires when a running job has not reported a step for `hold`, counted from its newest step
// or from the time at which it began to run, and ceases to fire with the next step. The time in
// which the job does not run does not count.
StalledFinding CheckStalled(absl::Duration hold, const StalledView& view, bool firing);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_ALERTS_STALLED_H_
