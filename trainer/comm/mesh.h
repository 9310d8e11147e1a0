#ifndef MUSTER_TRAINER_COMM_MESH_H_
#define MUSTER_TRAINER_COMM_MESH_H_

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "trainer/comm/communicator.h"
#include "trainer/comm/mesh_shape.h"

namespace muster::trainer {

// Makes the communicator among `ranks` of the world; `rank`, this one, is among them. `tag`
// identifies the group within its round and is the same on all members.
using GroupMaker = std::function<absl::StatusOr<std::unique_ptr<Communicator>>(
    const std::string& tag, const std::vector<int>& ranks, int rank)>;

// This rank's place in the mesh of a round, and the communicators of its groups. A group that is
// the whole world is the world's communicator itself. Other groups are made by the first call of
// Group(); all members must make these calls in the same order. Not thread-safe.
//
//   MUSTER_ASSIGN_OR_RETURN(Mesh mesh, Mesh::Create({.data = 2}, world, make));
//   MUSTER_ASSIGN_OR_RETURN(Communicator* reduce,
//                           mesh.Group({MeshAxis::kData, MeshAxis::kContext}));
class Mesh {
 public:
  // `world` must outlive the mesh.
  static absl::StatusOr<Mesh> Create(const MeshShape& shape, Communicator& world, GroupMaker make);

  const MeshShape& shape() const { return shape_; }
  MeshCoordinates coordinates() const { return shape_.CoordinatesOf(world_->rank()); }
  absl::StatusOr<Communicator*> Group(const std::vector<MeshAxis>& axes);
  // Returns the world and every group made so far.
  std::vector<Communicator*> communicators() const;

 private:
  Mesh(const MeshShape& shape, Communicator& world, GroupMaker make);

  MeshShape shape_;
  Communicator* world_;
  GroupMaker make_;
  std::map<std::vector<int>, std::unique_ptr<Communicator>> groups_;  // by members
};

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_COMM_MESH_H_
