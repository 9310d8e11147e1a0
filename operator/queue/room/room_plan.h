#ifndef MUSTER_OPERATOR_QUEUE_ROOM_ROOM_PLAN_H_
#define MUSTER_OPERATOR_QUEUE_ROOM_ROOM_PLAN_H_

#include <optional>

#include "absl/time/time.h"
#include "operator/placement/topology_tree.h"
#include "operator/queue/book/queue_book.h"
#include "operator/queue/room/victims.h"

namespace muster::control {

// The size that a newcomer gets, and the victims that make room for it.
struct RoomPlan {
  int workers = 0;
  VictimPlan plan;
};

// Returns the most workers with which the newcomer's queue stays within its nominal quota, up to
// its largest size and what its namespace's limit leaves; 0 if no quota bounds any of what it asks
// for. Quota that other jobs of the queue claim is not the newcomer's; null: nothing is claimed.
int NominalWorkers(const QueueBook::State& state, const JobEntry& newcomer,
                   const Claims* claims = nullptr);

// Plans room for at least `least` workers, and for as many as the newcomer can take back from jobs
// that borrow its queue's nominal quota: the largest such size. Beyond its smallest size no job of
// its own queue goes, and nothing beyond nominal quota is freed for it. `least` is at least the
// smallest size; nothing if no room can be made. The number of searches is logarithmic in the size.
std::optional<RoomPlan> PlanRoom(absl::Time now, const TopologyTree& tree, QueueBook::State& state,
                                 JobEntry& newcomer, int least, const VictimOptions& options);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_QUEUE_ROOM_ROOM_PLAN_H_
