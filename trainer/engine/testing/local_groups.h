#ifndef MUSTER_TRAINER_ENGINE_TESTING_LOCAL_GROUPS_H_
#define MUSTER_TRAINER_ENGINE_TESTING_LOCAL_GROUPS_H_

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "trainer/comm/communicator.h"
#include "trainer/comm/local_communicator.h"
#include "trainer/comm/mesh_shape.h"
#include "trainer/engine/link/round_groups.h"
#include "trainer/engine/link/round_mesh.h"

namespace muster::trainer {

// The communicators of a layout's ranks, which are threads.
class LocalGroups {
 public:
  // Returns a communicator in place of one of the host's memory.
  using Wrap = std::unique_ptr<Communicator> (*)(std::unique_ptr<Communicator> host);

  explicit LocalGroups(const MeshShape& shape, Wrap wrap = nullptr)
      : world_(MakeGroup(shape.size(), wrap)) {
    std::map<std::vector<int>, Communicators> made;  // by members
    const auto take = [&made, wrap](const std::string&, const std::vector<int>& ranks,
                                    int rank) -> absl::StatusOr<std::unique_ptr<Communicator>> {
      Communicators& group = made[ranks];
      if (group.empty()) group = MakeGroup(static_cast<int>(ranks.size()), wrap);
      const auto place = std::find(ranks.begin(), ranks.end(), rank) - ranks.begin();
      return std::move(group[static_cast<size_t>(place)]);
    };
    for (const auto& world : world_) {
      meshes_.push_back(*Mesh::Create(shape, *world, take));
      groups_.push_back(*MakeGroups(meshes_.back(), *world));
    }
  }

  RoundGroups Of(int rank) const { return groups_[static_cast<size_t>(rank)]; }

 private:
  using Communicators = std::vector<std::unique_ptr<Communicator>>;

  static Communicators MakeGroup(int size, Wrap wrap) {
    Communicators group = MakeLocalCommunicators({.size = size});
    for (auto& each : group) {
      if (wrap != nullptr) each = wrap(std::move(each));
    }
    return group;
  }

  const Communicators world_;
  std::vector<Mesh> meshes_;  // which own the groups
  std::vector<RoundGroups> groups_;
};

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_ENGINE_TESTING_LOCAL_GROUPS_H_
