#ifndef MUSTER_OPERATOR_SCHEDULER_GANG_GREEDY_PLACER_H_
#define MUSTER_OPERATOR_SCHEDULER_GANG_GREEDY_PLACER_H_

#include <map>
#include <string>
#include <variant>

#include "operator/placement/cluster/cluster_snapshot.h"
#include "operator/placement/complete_gang.h"
#include "operator/placement/gang_nodes.h"
#include "operator/scheduler/cluster/placement_world.h"

namespace muster::control {

// The next worker has no place.
struct NoNextPlace {
  int placed = 0;  // workers of the gang that have one
  std::string sentence;
};

// Places the workers one by one, each as near to the others as the rules allow beside the workers
// before it: as many as possible, in whole slices, at least the gang's `min`. Does not use nodes
// that are closed in `others`; `pods` are by worker. Takes no choice back, so it may miss a
// placement where rules by several labels cross. Leaves the world unchanged.
std::variant<Completion, NoNextPlace> PlaceOneByOne(const PlacementWorld& world,
                                                    const PartialGang& gang,
                                                    const std::map<int, PodPointer>& pods,
                                                    const GangNodes& others);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_SCHEDULER_GANG_GREEDY_PLACER_H_
