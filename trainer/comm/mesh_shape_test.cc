#include "trainer/comm/mesh_shape.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace muster::trainer {
namespace {

using testing::ElementsAre;

TEST(MeshShapeTest, CoordinatesAndRanksAreInverse) {
  const MeshShape mesh{.pipeline = 2, .data = 3, .shard = 2, .context = 2, .tensor = 4};
  ASSERT_TRUE(mesh.Check(96).ok());
  for (int rank = 0; rank < mesh.size(); ++rank) {
    EXPECT_EQ(mesh.RankOf(mesh.CoordinatesOf(rank)), rank);
  }
  EXPECT_EQ(mesh.CoordinatesOf(57), (MeshCoordinates{.pipeline = 1, .shard = 1, .tensor = 1}));
}

TEST(MeshShapeTest, GroupsDifferInTheirAxesOnly) {
  const MeshShape mesh{.pipeline = 2, .data = 2, .tensor = 2};
  EXPECT_THAT(mesh.Group(5, {MeshAxis::kTensor}), ElementsAre(4, 5));
  EXPECT_THAT(mesh.Group(5, {MeshAxis::kData}), ElementsAre(5, 7));
  EXPECT_THAT(mesh.Group(5, {MeshAxis::kPipeline}), ElementsAre(1, 5));
  EXPECT_THAT(mesh.Group(5, {MeshAxis::kData, MeshAxis::kTensor}), ElementsAre(4, 5, 6, 7));
  EXPECT_THAT(mesh.Group(5, {MeshAxis::kContext}), ElementsAre(5));
}

TEST(MeshShapeTest, GroupsOfAnAxisPartitionTheWorld) {
  const MeshShape mesh{.pipeline = 2, .data = 3, .context = 2, .tensor = 2};
  std::vector<int> seen(static_cast<size_t>(mesh.size()));
  for (int rank = 0; rank < mesh.size(); ++rank) {
    const auto group = mesh.Group(rank, {MeshAxis::kData, MeshAxis::kContext});
    EXPECT_EQ(group.size(), 6u);
    for (const int member : group) seen[static_cast<size_t>(member)] += 1;
  }
  EXPECT_THAT(seen, testing::Each(6));
}

TEST(MeshShapeTest, RanksAlongDataAndShardAreWorkersOfTheirOwn) {
  const MeshShape mesh{.pipeline = 2, .data = 2, .shard = 3, .tensor = 2};
  EXPECT_EQ(mesh.workers(), 6);
  for (int rank = 0; rank < mesh.size(); ++rank) {
    const MeshCoordinates at = mesh.CoordinatesOf(rank);
    EXPECT_EQ(mesh.WorkerOf(rank), 3 * at.data + at.shard);
  }
}

TEST(MeshShapeTest, AMeshOfAnotherSizeThanTheWorldIsRefused) {
  EXPECT_EQ((MeshShape{.data = 3}).Check(4),
            absl::InvalidArgumentError("a mesh of 1 pipeline x 3 data x 1 shard x 1 context x 1 "
                                       "tensor x 1 expert is 3 ranks, and there are 4"));
  EXPECT_EQ((MeshShape{.data = -1, .tensor = -4}).Check(4),
            absl::InvalidArgumentError("every axis of a mesh must be at least 1"));
}

}  // namespace
}  // namespace muster::trainer
