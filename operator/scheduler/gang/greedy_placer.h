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

// Places worker by worker, each as near to the others as the rules allow beside those before it: as
// many as possible, in whole slices, at least the gang's `min`. Nodes closed in `others` are not
// used; `pods` are by worker. No choice is taken back, so where rules by several labels cross, it
// may miss a place. The world is left as it was.
std::variant<Completion, NoNextPlace> PlaceOneByOne(const PlacementWorld& world,
                                                    const PartialGang& gang,
                                                    const std::map<int, PodPointer>& pods,
                                                    const GangNodes& others);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_SCHEDULER_GANG_GREEDY_PLACER_H_
