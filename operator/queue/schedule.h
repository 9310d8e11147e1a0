#ifndef MUSTER_OPERATOR_QUEUE_SCHEDULE_H_
#define MUSTER_OPERATOR_QUEUE_SCHEDULE_H_

#include <map>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "operator/placement/gang_nodes.h"
#include "operator/placement/inventory.h"
#include "operator/placement/ring_model.h"
#include "operator/placement/topology_tree.h"
#include "operator/queue/decision.h"
#include "operator/queue/queue_book.h"
#include "operator/queue/queue_spec.h"
#include "operator/queue/queued_job.h"
#include "operator/queue/refusal_memo.h"
#include "operator/queue/victims.h"

// Which waiting jobs start now and where, who makes room for whom, and why the others wait. The one
// entry for the operator's decision thread and the simulator. Pure and deterministic.
//
// Queues take turns by the order of order.h, and each offers its jobs by it. The first job of a
// queue that cannot start is its head: it may take back nominal quota or preempt, and gets a
// reservation, the time by which it starts if running jobs end when they say. Jobs behind it start
// only if that time stays. Jobs that say no end count as ending last; such jobs that started after
// the head got its reservation, as never.
namespace muster::control {

struct ScheduleOptions {
  // How long what was told to go still holds its nodes.
  absl::Duration stop_grace = absl::Minutes(1);
  // What stopping a worker costs beyond work done twice, and what shrinking costs each that stays;
  // in time of each of its GPUs.
  absl::Duration restart_cost = absl::Minutes(2);
  absl::Duration reshape_cost = absl::Seconds(5);
  // Jobs looked at behind the head of each queue.
  int backfill_depth = 100;
  // Heads of each cohort that get a reservation of quota.
  int reservations = 8;
  // Of all heads, those whose reservation also holds nodes.
  int reservations_of_nodes = 4;
  // Tries of the search for victims.
  int victim_search_budget = 4000;
  // Also move elastic jobs and those that are cheap to stop when a large job would then fit and
  // gain more than that costs.
  bool defragment = false;
  std::map<std::string, Link> links;  // as Place
  // Which nodes are for whom; null: all for everybody.
  GangGate* gate = nullptr;
  // What was refused in cycles before and would be again; null: nothing is known.
  RefusalMemo* refused = nullptr;
};

// How a cycle searches for victims, and what it takes their going to cost.
VictimOptions VictimOptionsOf(const ScheduleOptions& options);

// One cycle. What it decides is done to `tree` and `book` at once: started jobs are charged to the
// tree and run in the book, what must go is marked as leaving. The shell then does the same to the
// world, and says with QueueBook::Upsert what came of it. `tree` is the cluster less all that runs.
// A waiting job for which nothing comes back was not looked at: kBehind.
std::vector<Decision> Schedule(absl::Time now, TopologyTree& tree, QueueBook& book,
                               const ScheduleOptions& options = {});

// All of a decision's input as plain values: what `muster replay` keeps.
struct Snapshot {
  Inventory inventory;
  std::vector<QueueSpec> queues;
  std::vector<QueuedJob> jobs;
  BookMemory memory;
  ScheduleOptions options;
};
std::vector<Decision> Schedule(absl::Time now, const Snapshot& snapshot);
// Fills an empty book, made with memory.options, with the snapshot's queues and jobs.
void FillBook(const Snapshot& snapshot, QueueBook& book);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_QUEUE_SCHEDULE_H_
