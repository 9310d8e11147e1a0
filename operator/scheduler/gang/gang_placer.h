#ifndef MUSTER_OPERATOR_SCHEDULER_GANG_GANG_PLACER_H_
#define MUSTER_OPERATOR_SCHEDULER_GANG_GANG_PLACER_H_

#include <map>
#include <string>
#include <variant>

#include "operator/objects/caches.h"
#include "operator/placement/cluster/cluster_snapshot.h"
#include "operator/placement/complete_gang.h"
#include "operator/scheduler/cluster/cluster_model.h"
#include "operator/scheduler/cluster/placement_world.h"

namespace muster::control {

// Reason of a refusal where the template's constraints leave no place for the gang as a whole; used
// besides the reasons of Name.
inline constexpr char kConstraintsReason[] = "Constraints";

struct PlacementRefusal {
  std::string reason;
  std::string sentence;
  // True if any gang of this shape (ShapeOf) is refused in the same way until the cluster changes.
  bool of_shape = false;
};

using PlacementAnswer = std::variant<Completion, PlacementRefusal>;

// Returns the newest pod without a node of each worker.
std::map<int, PodCache::Object> NewestUnbound(const Gang& gang);
// The same, as filters see them.
std::map<int, PodPointer> MissingPods(const Gang& gang);

// Finds places for the missing pods of a gang. Each place passes every rule of kube-scheduler when
// the pods are bound one after the other. Chooses by topology first, then verifies the rules
// between pods of the gang (affinity, spread, volumes). If that fails, or a spread leaves room for
// more, takes the best of the domains that the gang may use: the most workers, then the tightest.
// Leaves the world unchanged.
PlacementAnswer PlaceGang(const PlacementWorld& world, const PartialGang& gang,
                          const std::map<int, PodPointer>& pods);
inline PlacementAnswer PlaceGang(ClusterModel& model, const PartialGang& gang,
                                 const std::map<int, PodPointer>& pods) {
  return PlaceGang(PlacementWorld(model), gang, pods);
}

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_SCHEDULER_GANG_GANG_PLACER_H_
