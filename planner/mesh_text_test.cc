#include "planner/mesh_text.h"

#include "gtest/gtest.h"
#include "planner/layout.h"

namespace muster::planner {
namespace {

TEST(MeshTextTest, SaysWhereRanksAreAlongEachAxis) {
  v1alpha1::ParallelismSpec parallelism;
  parallelism.set_tensor(2);
  parallelism.set_pipeline(2);
  const v1alpha1::Mesh mesh = LayOutRanks(parallelism, 8);
  EXPECT_EQ(MeshText(mesh, 0, 2), "pipeline 0 of 2, data 0 of 2, tensor 0-1 of 2");
  EXPECT_EQ(MeshText(mesh, 6, 2), "pipeline 1 of 2, data 1 of 2, tensor 0-1 of 2");
  EXPECT_EQ(MeshText(mesh, 0, 8), "pipeline 0-1 of 2, data 0-1 of 2, tensor 0-1 of 2");
}

// Ranks 2 and 3 of shards of three are the last one of a copy and the first one of the next.
TEST(MeshTextTest, NamesPlacesThatAreNoNeighbours) {
  v1alpha1::Mesh mesh;
  mesh.set_data(2);
  mesh.set_shard(3);
  EXPECT_EQ(MeshText(mesh, 2, 2), "data 0-1 of 2, shard 0,2 of 3");
}

TEST(MeshTextTest, CopiesOfTheStateAreNotWorthAWord) {
  v1alpha1::Mesh mesh;
  mesh.set_data(8);
  EXPECT_EQ(MeshText(mesh, 0, 2), "");
  EXPECT_EQ(MeshText({}, 0, 1), "");
}

}  // namespace
}  // namespace muster::planner
