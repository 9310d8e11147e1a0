#include "trainer/comm/mesh.h"

#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "trainer/comm/local_communicator.h"

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

}  // namespace
}  // namespace muster::trainer
