#ifndef MUSTER_TRAINER_ENGINE_LINK_ROUND_MESH_H_
#define MUSTER_TRAINER_ENGINE_LINK_ROUND_MESH_H_

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "proto/muster/v1alpha1/round.pb.h"
#include "trainer/comm/communicator.h"
#include "trainer/comm/mesh_shape.h"
#include "trainer/engine/link/link.h"
#include "trainer/engine/link/round_groups.h"
#include "trainer/engine/link/round_network.h"

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
  // Makes MeshShape::GroupOfEnds(); null for a rank of another stage.
  absl::StatusOr<Communicator*> GroupOfEnds(const std::vector<MeshAxis>& axes);
  // Makes a communicator that is this call's alone, of two ranks of the world. Both call it.
  absl::StatusOr<Communicator*> Channel(int from, int to);
  // Returns the world and every group made so far.
  std::vector<Communicator*> communicators() const;

 private:
  Mesh(const MeshShape& shape, Communicator& world, GroupMaker make);
  absl::StatusOr<Communicator*> Among(const std::vector<int>& ranks);

  MeshShape shape_;
  Communicator* world_;
  GroupMaker make_;
  std::map<std::vector<int>, std::unique_ptr<Communicator>> groups_;  // by members
  std::vector<std::unique_ptr<Communicator>> channels_;
};

// Makes the groups of the mesh's layout; all ranks call it at the same time.
absl::StatusOr<RoundGroups> MakeGroups(Mesh& mesh, Communicator& world);

// Returns the layout that an order to go names, for that many ranks: InvalidArgument if they do not
// fill it.
absl::StatusOr<MeshShape> MeshShapeOf(const v1alpha1::GoRound& go, int world_size);

// The ranks of a round, connected: the world and the groups along the axes of its layout. While
// it lives, an abort that the inbox carries breaks off every operation of all of them. Not
// thread-safe.
class RoundMesh {
 public:
  // Meets the other ranks of the round in its store.
  static absl::StatusOr<std::unique_ptr<RoundMesh>> Connect(const v1alpha1::GoRound& go, int rank,
                                                            int world_size, RoundNetwork& network,
                                                            Inbox& inbox);
  ~RoundMesh() { Abort("this rank left the round"); }

  // Breaks off what is under way, in all groups, for good.
  void Abort(std::string_view why);

  Communicator& world() { return *world_; }
  const MeshShape& shape() const { return mesh_.shape(); }
  const RoundGroups& groups() const { return groups_; }

 private:
  RoundMesh(std::unique_ptr<Communicator> world, Mesh mesh, const RoundGroups& groups,
            Inbox& inbox);

  const std::unique_ptr<Communicator> world_;
  Mesh mesh_;
  const RoundGroups groups_;
  Inbox& inbox_;
};

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_ENGINE_LINK_ROUND_MESH_H_
