#ifndef MUSTER_OPERATOR_QUEUE_ROOM_DEFRAGMENTATION_H_
#define MUSTER_OPERATOR_QUEUE_ROOM_DEFRAGMENTATION_H_

#include <optional>
#include <vector>

#include "absl/time/time.h"
#include "operator/placement/topology_tree.h"
#include "operator/queue/book/queue_book.h"
#include "operator/queue/room/victim_options.h"

namespace muster::control {

// Running jobs that are stopped and placed anew elsewhere, so that a large one fits.
struct DefragmentationPlan {
  std::vector<JobEntry*> moved;
  double cost = 0;  // GPU-seconds that the moved jobs lose
  double gain = 0;  // GPU-seconds that the newcomer does not wait
};

// Returns a plan that gains more than it costs, or nothing. `newcomer` has quota but no nodes, and
// would start by `otherwise` (InfiniteFuture: unknown); its wait counts up to `at_most`. Every job
// that moves, whatever its queue, has a place on the nodes that are left when the newcomer has its
// own. Jobs that cost more to stop than the newcomer gains are not moved.
std::optional<DefragmentationPlan> PlanDefragmentation(absl::Time now, const TopologyTree& tree,
                                                       QueueBook::State& state,
                                                       const JobEntry& newcomer,
                                                       absl::Time otherwise, absl::Duration at_most,
                                                       const VictimOptions& options);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_QUEUE_ROOM_DEFRAGMENTATION_H_
