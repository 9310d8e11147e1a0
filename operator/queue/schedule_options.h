#ifndef MUSTER_OPERATOR_QUEUE_SCHEDULE_OPTIONS_H_
#define MUSTER_OPERATOR_QUEUE_SCHEDULE_OPTIONS_H_

#include <map>
#include <string>

#include "absl/time/time.h"
#include "operator/placement/gang_nodes.h"
#include "operator/placement/ring_model.h"
#include "operator/queue/refusal_memo.h"
#include "operator/queue/room/victim_options.h"

namespace muster::control {

// The options of Schedule, which all parts of a cycle read.
struct ScheduleOptions {
  // A worker that was told to stop holds its node for at most this long.
  absl::Duration stop_grace = absl::Minutes(1);
  // The cost of stopping a worker, beyond the work that is done twice, and of a shrink, for each
  // worker of the job; in time of each of its GPUs.
  absl::Duration restart_cost = absl::Minutes(2);
  absl::Duration reshape_cost = absl::Seconds(5);
  // The number of jobs that are tried behind the head of each queue.
  int backfill_depth = 100;
  // The most heads of each cohort that get a reservation.
  int reservations = 8;
  // The most reservations, over all cohorts, that also hold nodes.
  int reservations_of_nodes = 4;
  // The most tries of a search for victims.
  int victim_search_budget = 4000;
  // Also move jobs to other nodes when a large job then fits and gains more than that costs.
  bool defragment = false;
  std::map<std::string, Link> links;  // as in Place
  // The nodes that each job may use; null: all nodes for every job.
  GangGate* gate = nullptr;
  // Refusals of earlier cycles that still hold; null: nothing is known.
  RefusalMemo* refused = nullptr;
};

// Returns the options of the search for victims: its budget, and the cost of each victim.
VictimOptions VictimOptionsOf(const ScheduleOptions& options);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_QUEUE_SCHEDULE_OPTIONS_H_
