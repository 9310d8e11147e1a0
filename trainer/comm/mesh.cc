#include "trainer/comm/mesh.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status_macros.h"

namespace muster::trainer {

Mesh::Mesh(const MeshShape& shape, Communicator& world, GroupMaker make)
    : shape_(shape), world_(&world), make_(std::move(make)) {}

absl::StatusOr<Mesh> Mesh::Create(const MeshShape& shape, Communicator& world, GroupMaker make) {
  MUSTER_RETURN_IF_ERROR(shape.Check(world.size()));
  return Mesh(shape, world, std::move(make));
}

absl::StatusOr<Communicator*> Mesh::Group(const std::vector<MeshAxis>& axes) {
  const std::vector<int> ranks = shape_.Group(world_->rank(), axes);
  if (static_cast<int>(ranks.size()) == world_->size()) return world_;
  std::unique_ptr<Communicator>& group = groups_[ranks];
  if (group == nullptr) {
    const std::string tag = absl::StrCat("group-", absl::StrJoin(ranks, "-"));
    MUSTER_ASSIGN_OR_RETURN(group, make_(tag, ranks, world_->rank()));
  }
  return group.get();
}

std::vector<Communicator*> Mesh::communicators() const {
  std::vector<Communicator*> out = {world_};
  for (const auto& [ranks, group] : groups_) {
    if (group != nullptr) out.push_back(group.get());
  }
  return out;
}

}  // namespace muster::trainer
