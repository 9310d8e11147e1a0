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

// What the template's constraints leave of a place for the gang as a whole is none; beside the
// reasons of UnplaceableReasonName.
inline constexpr char kConstraintsReason[] = "Constraints";

struct PlacementRefusal {
  std::string reason;
  std::string sentence;
  // Any gang of this shape (ShapeOf) is refused alike as the cluster stands.
  bool of_shape = false;
};

using PlacementAnswer = std::variant<Completion, PlacementRefusal>;

// The pods of a gang that have no node yet, by worker: of each worker the newest.
std::map<int, PodCache::Object> NewestUnbound(const Gang& gang);
// The same, as filters see them.
std::map<int, PodPointer> MissingPods(const Gang& gang);

// Where the missing pods of a gang go, each of them valid by every rule of kube-scheduler's when
// they are bound one after the other. Topology decides; what the pods of the gang are to each other
// (affinity, spread, volumes) is verified then. Where that fails, or a spread leaves room for more,
// the best is taken of the domains that the gang may be in: the most workers, then the tightest.
// The world is as before.
PlacementAnswer PlaceGang(const PlacementWorld& world, const PartialGang& gang,
                          const std::map<int, PodPointer>& pods);
inline PlacementAnswer PlaceGang(ClusterModel& model, const PartialGang& gang,
                                 const std::map<int, PodPointer>& pods) {
  return PlaceGang(PlacementWorld(model), gang, pods);
}

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_SCHEDULER_GANG_GANG_PLACER_H_
