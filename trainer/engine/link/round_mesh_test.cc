#include "trainer/engine/link/round_mesh.h"

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "ATen/ops/full.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "trainer/comm/local_communicator.h"
#include "trainer/engine/link/link.h"
#include "trainer/engine/testing/thread_rounds.h"

namespace muster::trainer {
namespace {

TEST(MeshTest, AWorldOfDataParallelRanksIsItsOwnGroup) {
  auto world = MakeLocalCommunicators({.size = 4});
  auto mesh = Mesh::Create({.data = 4}, *world[2], [](const auto&, const auto&, int) {
    return absl::UnimplementedError("no group is needed");
  });
  ASSERT_TRUE(mesh.ok()) << mesh.status();
  EXPECT_EQ(mesh->coordinates(), (MeshCoordinates{.data = 2}));
  EXPECT_EQ(mesh->Group({MeshAxis::kData, MeshAxis::kContext}).value(), world[2].get());
}

TEST(MeshTest, AGroupIsMadeOnceAmongItsMembers) {
  auto world = MakeLocalCommunicators({.size = 4});
  std::vector<std::string> made;
  auto mesh = Mesh::Create(
      {.data = 2, .tensor = 2}, *world[3],
      [&](const std::string& tag, const std::vector<int>& ranks, int rank) {
        made.push_back(tag);
        EXPECT_EQ(rank, 3);
        return std::move(MakeLocalCommunicators({.size = static_cast<int>(ranks.size())})[1]);
      });
  ASSERT_TRUE(mesh.ok()) << mesh.status();
  Communicator* const data = mesh->Group({MeshAxis::kData}).value();
  EXPECT_EQ(mesh->Group({MeshAxis::kData}).value(), data);
  EXPECT_NE(mesh->Group({MeshAxis::kTensor}).value(), data);
  EXPECT_EQ(made, (std::vector<std::string>{"group-1-3", "group-2-3"}));
}

TEST(MeshTest, AMeshOfAnotherSizeThanTheWorldIsRefused) {
  auto world = MakeLocalCommunicators({.size = 4});
  EXPECT_EQ(Mesh::Create({.data = 3}, *world[0], nullptr).status().code(),
            absl::StatusCode::kInvalidArgument);
}

v1alpha1::GoRound Go(int pipeline, int data, int shard, int context, int tensor) {
  v1alpha1::GoRound go;
  go.mutable_round()->set_round(1);
  go.set_endpoint("thread:1");
  v1alpha1::Mesh& mesh = *go.mutable_mesh();
  mesh.set_pipeline(pipeline);
  mesh.set_data(data);
  mesh.set_shard(shard);
  mesh.set_context(context);
  mesh.set_tensor(tensor);
  return go;
}

// Sums the numbers of ranks over a group.
std::string Sum(Communicator* group, int rank) {
  if (group == nullptr) return "-";
  at::Tensor sum = at::full({1}, static_cast<double>(rank), at::kDouble);
  EXPECT_TRUE(group->AllReduce(sum, ReduceOp::kSum, "ranks")->Wait().ok());
  return absl::StrCat(sum.item<double>());
}

// Connects all ranks and returns, for each, the sums of its groups: stages, shard, replicas,
// context, tensor, workers, replicas of whole units.
std::vector<std::string> SumsOfGroups(const v1alpha1::GoRound& go, int ranks) {
  ThreadNetwork::Rounds rounds;
  std::vector<std::string> sums(static_cast<size_t>(ranks));
  std::vector<std::thread> threads;
  for (int r = 0; r < ranks; ++r) {
    threads.emplace_back([&, r] {
      ThreadNetwork network(rounds);
      Inbox inbox;
      const auto mesh = RoundMesh::Connect(go, r, ranks, network, inbox);
      ASSERT_TRUE(mesh.ok()) << mesh.status();
      const RoundGroups& groups = (*mesh)->groups();
      EXPECT_EQ(ShapeOf(groups).size(), ranks);
      EXPECT_EQ(ShapeOf(groups).tensor, (*mesh)->shape().tensor);
      sums[static_cast<size_t>(r)] = absl::StrCat(
          Sum(groups.stages, r), " ", Sum(groups.shard, r), " ", Sum(groups.replicas, r), " ",
          Sum(groups.axes.context, r), " ", Sum(groups.axes.tensor, r), " ", Sum(groups.workers, r),
          " ", Sum(groups.whole_replicas, r));
    });
  }
  for (std::thread& thread : threads) thread.join();
  return sums;
}

TEST(RoundMeshTest, EveryAxisOfTheOrderHasAGroupAndTensorIsInnermost) {
  EXPECT_EQ(SumsOfGroups(Go(1, 2, 1, 1, 2), 4),
            (std::vector<std::string>{"- - 2 - 1 2 6", "- - 4 - 1 4 6", "- - 2 - 5 2 6",
                                      "- - 4 - 5 4 6"}));
  EXPECT_EQ(SumsOfGroups(Go(2, 1, 1, 2, 1), 4),
            (std::vector<std::string>{"2 - 1 1 - 0 -", "4 - 1 1 - 1 -", "2 - 5 5 - 2 -",
                                      "4 - 5 5 - 3 -"}));
  EXPECT_EQ(SumsOfGroups(Go(0, 2, 2, 0, 0), 4),
            (std::vector<std::string>{"- 1 2 - - - -", "- 1 4 - - - -", "- 5 2 - - - -",
                                      "- 5 4 - - - -"}));
}

TEST(RoundMeshTest, ALayoutThatTheRanksDoNotFillIsRefused) {
  EXPECT_EQ(MeshShapeOf(Go(2, 2, 1, 1, 2), 6).status().message(),
            "a mesh of 2 pipeline x 2 data x 1 shard x 1 context x 2 tensor x 1 expert is 8 ranks, "
            "and there are 6");
}

}  // namespace
}  // namespace muster::trainer
