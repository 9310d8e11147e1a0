#ifndef MUSTER_OPERATOR_CORE_STATE_OPTIONS_H_
#define MUSTER_OPERATOR_CORE_STATE_OPTIONS_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "base/backoff.h"

namespace muster::control {

// Limits of the operator's own waits; everything that a user may choose is in the spec.
struct DecideOptions {
  // After a take-over or a lost stream, an unattached agent whose pod lives is unknown, not dead.
  absl::Duration unknown_window = absl::Seconds(10);
  // A pod whose agent has not attached is replaced after it was Running for this long.
  absl::Duration attach_deadline = absl::Minutes(2);
  // The same while its node does not answer either (Ready is not True).
  absl::Duration unready_attach_deadline = absl::Seconds(30);
  absl::Duration prepare_deadline = absl::Seconds(60);
  absl::Duration join_deadline = absl::Minutes(10);
  // Survivors wait this long for a replacement before the round shrinks (failurePolicy
  // RestartRank).
  absl::Duration replacement_wait = absl::Seconds(60);
  // A round grows by a worker that came back only after it was Active for this long.
  absl::Duration grow_delay = absl::Seconds(3);
  // The assumed pause of a job's first resize, and the time in which added workers start.
  absl::Duration resize_pause = absl::Seconds(10);
  absl::Duration growth_start_up = absl::Seconds(30);
  // Workers beyond workers.count that have no node, or are not ready, after this long are given up.
  absl::Duration growth_bind_deadline = absl::Seconds(30);
  absl::Duration growth_deadline = absl::Minutes(5);
  // The longest snooze after growths that failed.
  absl::Duration growth_snooze_limit = absl::Hours(1);
  // Pods that got a stop order are deleted after this long even if they have not ended.
  absl::Duration stop_deadline = absl::Seconds(60);
  // The waits between tries of what fails, where a job's failurePolicy does not say.
  BackoffBounds backoff = {absl::Seconds(1), absl::Minutes(1)};
  absl::Duration progress_interval = absl::Seconds(10);
  // A status that only reports how a gang comes together is held back this long, to merge writes.
  absl::Duration status_write_delay = absl::Seconds(1);
  // The default of elastic.orphanDeadline. Absent: 6 hours with `trainer`, else never.
  std::optional<absl::Duration> orphan_deadline;
  // Alert rules of a running job are evaluated at least this often.
  absl::Duration alert_interval = absl::Seconds(10);
  // The number of jobs that may write checkpoints to one storage at a time before those with
  // checkpoint.interval.mode Auto wait; 0: no limit.
  int max_savers_per_storage = 0;
  // The names of the receivers that alert rules may name.
  std::vector<std::string> alert_receivers;
  // The currency of the prices of nodes, as in ISO 4217; empty: not known.
  std::string currency;
  // A round of a job without `trainer`, which reports no steps, counts as progress after this long.
  absl::Duration command_progress_after = absl::Seconds(30);
  // Once a round of such a job was Active for this long, the next failure is no repetition of the
  // last: a program may take its time to find out that it cannot run.
  absl::Duration command_recovered_after = absl::Minutes(10);
};

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_CORE_STATE_OPTIONS_H_
