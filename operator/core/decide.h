#ifndef MUSTER_OPERATOR_CORE_DECIDE_H_
#define MUSTER_OPERATOR_CORE_DECIDE_H_

#include "absl/time/time.h"
#include "operator/core/plan.h"
#include "operator/core/round_memory.h"
#include "operator/core/view.h"

namespace muster::control {

// Bounds of the operator's own waiting; everything a user may choose is in the spec.
struct DecideOptions {
  // After a take-over or a lost stream, an unattached agent whose pod lives is unknown, not dead.
  absl::Duration unknown_window = absl::Seconds(10);
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
  // Rounds of jobs without `trainer`, which report no steps, count as progress after this long.
  absl::Duration active_is_progress = absl::Seconds(30);
};

// One decision about one job. Pure: equal arguments, equal plan. Level-triggered: calling it again
// on a world that has not changed plans nothing new. Never asks for an order of a round that is not
// in plan.status (or already in view.status).
//
// Policies in order, each in its own file: deletion, admission, progress, checkpoint, failure,
// suspend, deadline, finish, ttl, gang, rounds, conditions.
Plan Decide(const JobView& view, const RoundMemory& memory, const DecideOptions& options = {});

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_CORE_DECIDE_H_
