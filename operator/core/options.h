#ifndef MUSTER_OPERATOR_CORE_OPTIONS_H_
#define MUSTER_OPERATOR_CORE_OPTIONS_H_

#include <optional>

#include "absl/time/time.h"

namespace muster::control {

// Bounds of the operator's own waiting; everything a user may choose is in the spec.
struct DecideOptions {
  // After a take-over or a lost stream, an unattached agent whose pod lives is unknown, not dead.
  absl::Duration unknown_window = absl::Seconds(10);
  // A pod is Running for this long without its agent attaching before it is replaced.
  absl::Duration attach_deadline = absl::Minutes(2);
  absl::Duration prepare_deadline = absl::Seconds(60);
  absl::Duration join_deadline = absl::Minutes(10);
  // How long survivors hold for a replacement before the round shrinks (failurePolicy RestartRank).
  absl::Duration replacement_wait = absl::Seconds(60);
  // A round is Active for this long before a worker that came back makes it grow.
  absl::Duration grow_delay = absl::Seconds(3);
  // A stop order is given this long before pods are deleted all the same.
  absl::Duration stop_deadline = absl::Seconds(60);
  absl::Duration backoff_base = absl::Seconds(1);
  absl::Duration backoff_cap = absl::Minutes(1);
  absl::Duration progress_interval = absl::Seconds(10);
  // How long a status that only tells how a gang comes together is held back, for more of it.
  absl::Duration tell_delay = absl::Seconds(1);
  // Of jobs whose elastic.orphanDeadline is left out; absent: 6 hours with `trainer`, else never.
  std::optional<absl::Duration> orphan_deadline;
  // Rounds of jobs without `trainer`, which report no steps, count as progress after this long.
  absl::Duration active_is_progress = absl::Seconds(30);
  // And this long before their next failure is no repetition of the last: a program may take its
  // time to find out that it cannot run.
  absl::Duration command_is_well = absl::Minutes(10);
};

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_CORE_OPTIONS_H_
