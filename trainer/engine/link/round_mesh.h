#ifndef MUSTER_TRAINER_ENGINE_LINK_ROUND_MESH_H_
#define MUSTER_TRAINER_ENGINE_LINK_ROUND_MESH_H_

#include <memory>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "proto/muster/v1alpha1/round.pb.h"
#include "trainer/comm/communicator.h"
#include "trainer/comm/mesh.h"
#include "trainer/comm/mesh_shape.h"
#include "trainer/engine/link/link.h"
#include "trainer/engine/link/round_groups.h"
#include "trainer/engine/link/round_network.h"

namespace muster::trainer {

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
