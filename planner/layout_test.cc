#include "planner/layout.h"

#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace muster::planner {
namespace {

std::string Layout(int zero, std::optional<int> shard, int ranks) {
  v1alpha1::ParallelismSpec spec;
  spec.set_zero(zero);
  if (shard) spec.set_shard(*shard);
  const v1alpha1::Mesh mesh = LayOutRanks(spec, ranks);
  return absl::StrCat(mesh.data(), " x ", mesh.shard());
}

int Ranks(std::optional<int> gpus, std::optional<int> ranks) {
  v1alpha1::WorkersSpec spec;
  if (gpus) spec.set_gpus(*gpus);
  if (ranks) spec.set_ranks(*ranks);
  return RanksOf(spec);
}

TEST(LayoutTest, AWorkerRunsARankOnEachGpuOrSoManyAsItsSpecSays) {
  EXPECT_EQ(Ranks(8, 1), 8);
  EXPECT_EQ(Ranks(8, 3), 8);
  EXPECT_EQ(Ranks(0, 3), 3);
  EXPECT_EQ(Ranks(std::nullopt, 3), 3);
}

TEST(LayoutTest, AWorkerHasARankWhateverItsSpecLeavesOut) {
  EXPECT_EQ(Ranks(std::nullopt, std::nullopt), 1);
  EXPECT_EQ(Ranks(0, 0), 1);
  EXPECT_EQ(Ranks(-1, -2), 1);
}

TEST(LayoutTest, WithoutZeroEveryRankHasACopy) {
  EXPECT_EQ(Layout(0, std::nullopt, 6), "6 x 1");
  EXPECT_EQ(Layout(0, 1, 6), "6 x 1");
}

TEST(LayoutTest, ZeroDividesAmongAllRanksOrAmongSoManyNeighbours) {
  EXPECT_EQ(Layout(1, std::nullopt, 6), "1 x 6");
  EXPECT_EQ(Layout(1, 2, 6), "3 x 2");
  EXPECT_EQ(Layout(1, std::nullopt, 1), "1 x 1");
}

TEST(LayoutTest, ARoundOfAnotherSizeDividesByTheLargestNumberThatFits) {
  EXPECT_EQ(Layout(1, 4, 6), "2 x 3");
  EXPECT_EQ(Layout(1, 4, 7), "7 x 1");
  EXPECT_EQ(Layout(1, 8, 6), "1 x 6");
}

}  // namespace
}  // namespace muster::planner
