#ifndef MUSTER_TRAINER_ENGINE_TESTING_LOCAL_GROUPS_H_
#define MUSTER_TRAINER_ENGINE_TESTING_LOCAL_GROUPS_H_

#include <algorithm>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "trainer/comm/communicator.h"
#include "trainer/comm/local_communicator.h"
#include "trainer/comm/mesh_shape.h"
#include "trainer/engine/link/round_groups.h"

namespace muster::trainer {

// The communicators of a layout's ranks, which are threads.
class LocalGroups {
 public:
  explicit LocalGroups(const MeshShape& shape)
      : shape_(shape), world_(MakeLocalCommunicators({.size = shape.size()})) {
    for (int rank = 0; rank < shape.size(); ++rank) {
      for (const std::vector<MeshAxis>& axes : kAxes) {
        Make(shape.Group(rank, axes));
        if (shape.IsEnd(rank)) Make(shape.GroupOfEnds(rank, axes));
      }
    }
  }

  RoundGroups Of(int rank) {
    RoundGroups groups{.world = world_[static_cast<size_t>(rank)].get()};
    const auto find = [&](const std::vector<MeshAxis>& axes) {
      return Find(shape_.Group(rank, axes), rank);
    };
    if (shape_.shard > 1) groups.shard = find({MeshAxis::kShard});
    const bool divides_model = shape_.tensor > 1 || shape_.pipeline > 1;
    if (shape_.shard > 1 || divides_model) groups.replicas = find({MeshAxis::kData});
    if (divides_model) groups.workers = find({MeshAxis::kData, MeshAxis::kShard});
    if (shape_.tensor > 1) {
      groups.axes.tensor = find({MeshAxis::kTensor});
      groups.whole_replicas = find({MeshAxis::kData, MeshAxis::kTensor});
    }
    if (shape_.pipeline > 1) groups.stages = find({MeshAxis::kPipeline});
    if (!shape_.IsEnd(rank)) return groups;
    const auto find_ends = [&](const std::vector<MeshAxis>& axes) {
      return Find(shape_.GroupOfEnds(rank, axes), rank);
    };
    groups.ends = find_ends({});
    groups.ends_replicas = find_ends({MeshAxis::kData});
    groups.ends_whole_replicas = find_ends({MeshAxis::kData, MeshAxis::kTensor});
    return groups;
  }

 private:
  static inline const std::vector<std::vector<MeshAxis>> kAxes = {
      {},
      {MeshAxis::kPipeline},
      {MeshAxis::kShard},
      {MeshAxis::kData},
      {MeshAxis::kTensor},
      {MeshAxis::kData, MeshAxis::kShard},
      {MeshAxis::kData, MeshAxis::kTensor}};
  using Communicators = std::vector<std::unique_ptr<Communicator>>;

  void Make(const std::vector<int>& ranks) {
    Communicators& group = groups_[ranks];
    if (group.empty()) group = MakeLocalCommunicators({.size = static_cast<int>(ranks.size())});
  }
  Communicator* Find(const std::vector<int>& ranks, int rank) {
    const auto place = std::find(ranks.begin(), ranks.end(), rank) - ranks.begin();
    return groups_.at(ranks)[static_cast<size_t>(place)].get();
  }

  const MeshShape shape_;
  const Communicators world_;
  std::map<std::vector<int>, Communicators> groups_;  // by members
};

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_ENGINE_TESTING_LOCAL_GROUPS_H_
