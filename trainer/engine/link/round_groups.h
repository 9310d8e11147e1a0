#ifndef MUSTER_TRAINER_ENGINE_LINK_ROUND_GROUPS_H_
#define MUSTER_TRAINER_ENGINE_LINK_ROUND_GROUPS_H_

#include "trainer/comm/axis_groups.h"
#include "trainer/comm/communicator.h"
#include "trainer/comm/mesh_shape.h"

namespace muster::trainer {

// The communicators of a round. If every rank holds the whole state, only `world` is set.
struct RoundGroups {
  Communicator* world = nullptr;
  Communicator* shard = nullptr;     // the ranks that divide one copy of the state
  Communicator* replicas = nullptr;  // the ranks that hold the same shard, one of each copy
  Communicator* stages = nullptr;    // the ranks of one pipeline; null if there is one stage
  AxisGroups axes = {};
  // Set if the tensor axis has several ranks. `workers` are the ranks that hold the same part of
  // the model and take micro-batches of their own; `replicas` then hold the same shard of the same
  // part, and `whole_replicas` the same shard of units that are no parts.
  Communicator* workers = nullptr;
  Communicator* whole_replicas = nullptr;
};

// Returns the ranks with micro-batches of their own, among which gradients are summed.
inline Communicator& WorkersOf(const RoundGroups& groups) {
  return groups.workers == nullptr ? *groups.world : *groups.workers;
}

// Returns the ranks that hold the same slice of a unit; `is_part` is its layout's.
inline Communicator& ReplicasOf(const RoundGroups& groups, bool is_part) {
  if (groups.whole_replicas != nullptr && !is_part) return *groups.whole_replicas;
  return groups.replicas == nullptr ? *groups.world : *groups.replicas;
}

// Returns the layout of the round's ranks.
inline MeshShape ShapeOf(const RoundGroups& groups) {
  const auto extent = [](const Communicator* group) {
    return group == nullptr ? 1 : group->size();
  };
  MeshShape shape{.pipeline = extent(groups.stages),
                  .shard = extent(groups.shard),
                  .context = extent(groups.axes.context),
                  .tensor = extent(groups.axes.tensor)};
  shape.data = groups.world->size() / shape.size();
  return shape;
}

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_ENGINE_LINK_ROUND_GROUPS_H_
