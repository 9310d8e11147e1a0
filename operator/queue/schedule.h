#ifndef MUSTER_OPERATOR_QUEUE_SCHEDULE_H_
#define MUSTER_OPERATOR_QUEUE_SCHEDULE_H_

#include <vector>

#include "absl/time/time.h"
#include "operator/placement/inventory.h"
#include "operator/placement/topology_tree.h"
#include "operator/queue/book/decision.h"
#include "operator/queue/book/queue_book.h"
#include "operator/queue/book/queue_spec.h"
#include "operator/queue/book/queued_job.h"
#include "operator/queue/schedule_options.h"

// Decides which waiting jobs start now and where, who makes room for whom, and why the others wait.
// The one entry for the operator's decision thread and the simulator. Pure and deterministic.
//
// Queues take turns, and each offers its jobs, in the order of order.h. The first job of a queue
// that cannot start is its head: it may take back nominal quota or preempt, and gets a reservation,
// the time by which it starts if running jobs end when they say. Jobs behind it start only if they
// do not delay that time. Jobs that state no end count as ending last; those of them that started
// after the head got its reservation count as never ending.
namespace muster::control {

// Runs one cycle, and applies its decisions to `tree` and `book` at once: started jobs are charged
// to the tree and run in the book, workers that must go are marked as leaving. The shell then does
// the same to the cluster, and reports the result with QueueBook::Upsert. `tree` is the cluster
// less all that runs. A waiting job that gets no decision was not looked at: kBehind.
std::vector<Decision> Schedule(absl::Time now, TopologyTree& tree, QueueBook& book,
                               const ScheduleOptions& options = {});

// The input of a decision as plain values, which `muster replay` keeps.
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
