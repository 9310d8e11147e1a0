#ifndef MUSTER_TRAINER_ENGINE_LINK_ROUND_GROUPS_H_
#define MUSTER_TRAINER_ENGINE_LINK_ROUND_GROUPS_H_

#include "trainer/comm/axis_groups.h"
#include "trainer/comm/communicator.h"
#include "trainer/comm/mesh_shape.h"
#include "trainer/parallel/unit_layout.h"

namespace muster::trainer {

// The communicators of a round. If every rank holds the whole state, only `world` is set.
struct RoundGroups {
  Communicator* world = nullptr;
  Communicator* shard = nullptr;     // the ranks that divide one copy of the state
  Communicator* replicas = nullptr;  // the ranks that hold the same shard of the same part
  Communicator* stages = nullptr;    // the ranks of one pipeline; null if there is one stage
  AxisGroups axes = {};
  // Set if several ranks work on a micro-batch. `workers` are the ranks with micro-batches of their
  // own, one of each micro-batch, that hold the same part of the model.
  Communicator* workers = nullptr;
  // Set if ranks divide sequences along the tensor axis: those that work on the same ones, and
  // those that hold the same shard of units that are no parts.
  Communicator* sequence = nullptr;
  Communicator* whole_replicas = nullptr;
  // Set on the first and the last of several stages, for units that both have: one rank of each
  // stage, and both kinds of replicas of both stages.
  Communicator* ends = nullptr;
  Communicator* ends_replicas = nullptr;
  Communicator* ends_whole_replicas = nullptr;
};

// Returns the ranks with micro-batches of their own, among which gradients are summed.
inline Communicator& WorkersOf(const RoundGroups& groups) {
  return groups.workers == nullptr ? *groups.world : *groups.workers;
}

// Returns the ranks that hold the same slice of a unit, which this rank has.
inline Communicator& ReplicasOf(const RoundGroups& groups, const UnitLayout& unit) {
  const bool of_all_parts = groups.axes.tensor != nullptr && !unit.is_part;
  if (unit.stages.size() > 1) {
    return of_all_parts ? *groups.ends_whole_replicas : *groups.ends_replicas;
  }
  if (of_all_parts) return *groups.whole_replicas;
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
