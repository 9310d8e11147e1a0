#ifndef MUSTER_OPERATOR_QUEUE_ROOM_VICTIM_OPTIONS_H_
#define MUSTER_OPERATOR_QUEUE_ROOM_VICTIM_OPTIONS_H_

#include <set>

#include "absl/time/time.h"
#include "operator/placement/gang_nodes.h"
#include "operator/queue/book/queue_book.h"
#include "operator/queue/book/queued_job.h"
#include "operator/queue/room/claims.h"

namespace muster::control {

// The options of a search for victims, and what a victim costs.
struct VictimOptions {
  absl::Duration restart_cost = absl::Minutes(2);
  absl::Duration reshape_cost = absl::Seconds(5);
  // After this many tries the search stops as soon as it has a set.
  int budget = 4000;
  // All sets are tried if at most this many jobs could be stopped.
  int exhaustive_up_to = 12;
  GangGate* gate = nullptr;  // as in ScheduleOptions
  // A job that ends by itself within this time is not told to go.
  absl::Duration stop_grace;
  // Room that other jobs claim; null: none.
  const Claims* claims = nullptr;
  // Jobs that this cycle has told to shrink, which may shrink further; null: none.
  const std::set<const JobEntry*>* shrunk = nullptr;
  // The newcomer's size; 0: its smallest. Only borrowers go for more than its smallest size.
  int workers = 0;
};

// The cost of stopping all of a running job: work since its last durable checkpoint, and the
// restart.
double CostOfStopping(const QueuedJob& job, absl::Time now, const VictimOptions& options);
// The cost of shrinking it, by any number of workers: the job waits for the next round.
double CostOfShrinking(const QueuedJob& job, const VictimOptions& options);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_QUEUE_ROOM_VICTIM_OPTIONS_H_
