#ifndef MUSTER_TRAINER_COMM_MESH_SHAPE_H_
#define MUSTER_TRAINER_COMM_MESH_SHAPE_H_

#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace muster::trainer {

// The layout of a round's ranks for parallelism: pipeline x data x shard x context x tensor x
// expert, tensor and expert innermost, so that the ranks that communicate most are neighbours (and
// on one node, as ranks are numbered by node). Data counts copies of the state, shard the ranks
// that divide one copy; both take micro-batches of their own. Pure arithmetic.

enum class MeshAxis { kPipeline, kData, kShard, kContext, kTensor, kExpert };

struct MeshCoordinates {
  int pipeline = 0;
  int data = 0;
  int shard = 0;
  int context = 0;
  int tensor = 0;
  int expert = 0;

  bool operator==(const MeshCoordinates&) const = default;
};

struct MeshShape {
  int pipeline = 1;
  int data = 1;
  int shard = 1;
  int context = 1;
  int tensor = 1;
  int expert = 1;

  // The ranks along these axes take micro-batches of their own.
  int workers() const { return data * shard; }
  int size() const { return pipeline * data * shard * context * tensor * expert; }
  int extent(MeshAxis axis) const;

  // Returns an error unless every extent is at least 1 and all of them multiply to `world_size`.
  absl::Status Check(int world_size) const;
  // Requires 0 <= rank < size().
  MeshCoordinates CoordinatesOf(int rank) const;
  int RankOf(const MeshCoordinates& coordinates) const;
  // Returns the place of the rank's micro-batches among those of workers() ranks: ranks of one
  // place work on the same ones.
  int WorkerOf(int rank) const;
  // Returns the ranks that differ from `rank` in these axes only, ascending, `rank` included. For
  // example, gradients are reduced over {kData, kShard, kContext}.
  std::vector<int> Group(int rank, const std::vector<MeshAxis>& axes) const;
  // Returns the ranks of the first and the last stage that differ from `rank` besides in these axes
  // only: the holders of a tensor that both stages use. Requires that `rank` is of one of them.
  std::vector<int> GroupOfEnds(int rank, std::vector<MeshAxis> axes) const;
  // Returns true if the rank is of the first or the last of several stages.
  bool IsEnd(int rank) const;
};

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_COMM_MESH_SHAPE_H_
