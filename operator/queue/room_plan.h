#ifndef MUSTER_OPERATOR_QUEUE_ROOM_PLAN_H_
#define MUSTER_OPERATOR_QUEUE_ROOM_PLAN_H_

#include <optional>

#include "absl/time/time.h"
#include "operator/placement/topology_tree.h"
#include "operator/queue/queue_state.h"
#include "operator/queue/victims.h"

namespace muster::control {

// How large a newcomer becomes, and who makes room for that.
struct RoomPlan {
  int workers = 0;
  VictimPlan plan;
};

// The most workers with which the newcomer's queue stays within its nominal quota, up to its
// largest size and what its namespace's limit leaves; 0 where no quota bounds any of what it asks
// for.
// What other jobs of the queue claim is not the newcomer's any more; null: nothing is claimed.
int NominalWorkers(const QueueBook::State& state, const JobEntry& newcomer,
                   const Claims* claims = nullptr);

// Room for at least `least` workers, and for as many as it can take back from those who borrow what
// is nominally its queue's: the largest such size. Beyond its smallest size nobody of its own queue
// goes, and nothing beyond nominal quota is made free for it. `least` is at least the smallest
// size; nothing when there is no room to be made. Takes as many searches as sizes have digits, in
// base two.
std::optional<RoomPlan> PlanRoom(absl::Time now, const TopologyTree& tree, QueueBook::State& state,
                                 JobEntry& newcomer, int least, const VictimOptions& options);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_QUEUE_ROOM_PLAN_H_
