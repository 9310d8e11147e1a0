#ifndef MUSTER_TRAINER_ENGINE_LINK_ROUND_GROUPS_H_
#define MUSTER_TRAINER_ENGINE_LINK_ROUND_GROUPS_H_

#include <map>

#include "trainer/comm/axis_groups.h"
#include "trainer/comm/communicator.h"
#include "trainer/comm/mesh_shape.h"
#include "trainer/parallel/unit_layout.h"

namespace muster::trainer {

// The channels between neighbouring stages of a pipeline, by the other rank's stage; the first and
// the last stage are neighbours, too. Each carries messages one way, from its rank 0 to its rank 1,
// so that a message that is not taken yet holds up only messages that follow it on the same way.
struct StageChannels {
  std::map<int, Communicator*> to, from;
};

// The communicators of a round, as this rank sees them. `world` is always set. The round's mesh
// owns all of them, and they are valid until the round ends. A group of all ranks may be `world`.
struct RoundGroups {
  Communicator* world = nullptr;
  // The ranks that divide one copy of the state. Null if the shard axis has one rank.
  Communicator* shard = nullptr;
  // The ranks that hold the same shard of the same part: those along the data and context axes.
  // Null if they are all ranks of the round.
  Communicator* replicas = nullptr;
  // The ranks of one pipeline. Null if there is one stage.
  Communicator* stages = nullptr;
  // Empty if messages of `stages` hold up no others.
  StageChannels channels = {};
  AxisGroups axes = {};
  // The ranks along the data and shard axes. Together they have each micro-batch of a step once.
  // Null if they are all ranks of the round.
  Communicator* workers = nullptr;
  // Set only if there is a tensor axis. `sequence` has the ranks that divide the same sequences,
  // along the context and tensor axes. `whole_replicas` has the ranks that hold the same shard of a
  // unit that the tensor axis does not divide.
  Communicator* sequence = nullptr;
  Communicator* whole_replicas = nullptr;
  // Set only on the first and the last of several stages, for units that both stages have. `ends`
  // has one rank of each of the two stages. The others have the ranks of `replicas` and of
  // `whole_replicas` on both stages.
  Communicator* ends = nullptr;
  Communicator* ends_replicas = nullptr;
  Communicator* ends_whole_replicas = nullptr;
};

// Returns the ranks that together have each micro-batch of a step once (RoundGroups::workers).
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
