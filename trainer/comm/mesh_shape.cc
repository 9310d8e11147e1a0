#include "trainer/comm/mesh_shape.h"

#include <iterator>

#include "absl/strings/str_cat.h"

namespace muster::trainer {
namespace {

constexpr MeshAxis kAxes[] = {MeshAxis::kPipeline, MeshAxis::kData,   MeshAxis::kShard,
                              MeshAxis::kContext,  MeshAxis::kTensor, MeshAxis::kExpert};

int& At(MeshCoordinates& coordinates, MeshAxis axis) {
  switch (axis) {
    case MeshAxis::kPipeline:
      return coordinates.pipeline;
    case MeshAxis::kData:
      return coordinates.data;
    case MeshAxis::kShard:
      return coordinates.shard;
    case MeshAxis::kContext:
      return coordinates.context;
    case MeshAxis::kTensor:
      return coordinates.tensor;
    case MeshAxis::kExpert:
      break;
  }
  return coordinates.expert;
}

}  // namespace

int MeshShape::extent(MeshAxis axis) const {
  MeshCoordinates extents{pipeline, data, shard, context, tensor, expert};
  return At(extents, axis);
}

absl::Status MeshShape::Check(int world_size) const {
  for (const MeshAxis axis : kAxes) {
    if (extent(axis) < 1) {
      return absl::InvalidArgumentError("every axis of a mesh must be at least 1");
    }
  }
  if (size() != world_size) {
    return absl::InvalidArgumentError(
        absl::StrCat("a mesh of ", pipeline, " pipeline x ", data, " data x ", shard, " shard x ",
                     context, " context x ", tensor, " tensor x ", expert, " expert is ", size(),
                     " ranks, and there are ", world_size));
  }
  return absl::OkStatus();
}

MeshCoordinates MeshShape::CoordinatesOf(int rank) const {
  MeshCoordinates coordinates;
  for (auto axis = std::rbegin(kAxes); axis != std::rend(kAxes); ++axis) {
    At(coordinates, *axis) = rank % extent(*axis);
    rank /= extent(*axis);
  }
  return coordinates;
}

int MeshShape::RankOf(const MeshCoordinates& coordinates) const {
  MeshCoordinates copy = coordinates;
  int rank = 0;
  for (const MeshAxis axis : kAxes) rank = rank * extent(axis) + At(copy, axis);
  return rank;
}

int MeshShape::WorkerOf(int rank) const {
  const MeshCoordinates at = CoordinatesOf(rank);
  return at.data * shard + at.shard;
}

std::vector<int> MeshShape::Group(int rank, const std::vector<MeshAxis>& axes) const {
  auto fixed = [&](int member) {
    MeshCoordinates coordinates = CoordinatesOf(member);
    for (const MeshAxis axis : axes) At(coordinates, axis) = 0;
    return coordinates;
  };
  std::vector<int> group;
  for (int other = 0; other < size(); ++other) {
    if (fixed(other) == fixed(rank)) group.push_back(other);
  }
  return group;
}

bool MeshShape::IsEnd(int rank) const {
  const int stage = CoordinatesOf(rank).pipeline;
  return pipeline > 1 && (stage == 0 || stage == pipeline - 1);
}

std::vector<int> MeshShape::GroupOfEnds(int rank, std::vector<MeshAxis> axes) const {
  axes.push_back(MeshAxis::kPipeline);
  std::vector<int> group = Group(rank, axes);
  std::erase_if(group, [&](int member) { return !IsEnd(member); });
  return group;
}

}  // namespace muster::trainer
