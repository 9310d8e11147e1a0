#include "operator/queue/schedule.h"

#include <vector>

#include "operator/queue/book/queue_state.h"
#include "operator/queue/cycle.h"

namespace muster::control {

std::vector<Decision> Schedule(absl::Time now, TopologyTree& tree, QueueBook& book,
                               const ScheduleOptions& options) {
  return Cycle(now, tree, book.state(), options).Run();
}

VictimOptions VictimOptionsOf(const ScheduleOptions& options) {
  VictimOptions victims;
  victims.restart_cost = options.restart_cost;
  victims.reshape_cost = options.reshape_cost;
  victims.budget = options.victim_search_budget;
  victims.gate = options.gate;
  victims.stop_grace = options.stop_grace;
  return victims;
}

void FillBook(const Snapshot& snapshot, QueueBook& book) {
  book.SetCapacity(snapshot.memory.capacity);
  book.SetQueues(snapshot.memory.at, snapshot.queues);
  for (const QueuedJob& job : snapshot.jobs) book.Upsert(snapshot.memory.at, job);
  book.Remember(snapshot.memory);
}

std::vector<Decision> Schedule(absl::Time now, const Snapshot& snapshot) {
  TopologyTree tree(snapshot.inventory);
  QueueBook book(snapshot.memory.options);
  FillBook(snapshot, book);
  return Schedule(now, tree, book, snapshot.options);
}

}  // namespace muster::control
