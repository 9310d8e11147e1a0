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

int Form(std::optional<int> shard, std::optional<int> least, int ranks, int workers) {
  v1alpha1::ParallelismSpec spec;
  spec.set_zero(3);
  if (shard) spec.set_shard(*shard);
  if (least) spec.set_min_shard(*least);
  return WorkersThatForm(spec, ranks, workers);
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

// Seven ranks with a whole copy each need four times the memory that the job asked for.
TEST(LayoutTest, ARoundOfAnotherSizeNeverGivesARankMoreOfTheStateThanWasAskedFor) {
  EXPECT_EQ(Layout(1, 4, 6), "1 x 6");
  EXPECT_EQ(Layout(1, 4, 7), "1 x 7");
  EXPECT_EQ(Layout(1, 4, 10), "2 x 5");
  EXPECT_EQ(Layout(1, 8, 6), "1 x 6");
}

std::string Layout(int zero, std::optional<int> shard, int tensor, int ranks) {
  v1alpha1::ParallelismSpec spec;
  spec.set_zero(zero);
  if (shard) spec.set_shard(*shard);
  spec.set_tensor(tensor);
  const v1alpha1::Mesh mesh = LayOutRanks(spec, ranks);
  return absl::StrCat(mesh.data(), " x ", mesh.shard(), " x ", mesh.tensor());
}

TEST(LayoutTest, RanksThatDivideTheModelCountAsOneWhereOthersDivideTheState) {
  EXPECT_EQ(Layout(0, std::nullopt, 2, 8), "4 x 1 x 2");
  EXPECT_EQ(Layout(3, std::nullopt, 2, 8), "1 x 4 x 2");
  EXPECT_EQ(Layout(1, 2, 2, 8), "2 x 2 x 2");
  EXPECT_EQ(Layout(1, 2, 4, 12), "1 x 3 x 4") << "three groups, and none holds more than half";
}

TEST(LayoutTest, WorkersOfTensorGroupsFormARoundByTheirGroups) {
  v1alpha1::ParallelismSpec spec;
  spec.set_zero(3);
  spec.set_shard(4);
  spec.set_tensor(4);
  EXPECT_EQ(WorkersThatForm(spec, 8, 5), 4) << "ten groups, and eight of them are two copies";
  EXPECT_EQ(WorkersThatForm(spec, 8, 1), 0) << "two groups";
}

TEST(LayoutTest, StagesHaveRanksOfTheirOwnAndEachFillsARoundAlike) {
  v1alpha1::ParallelismSpec spec;
  spec.set_pipeline(2);
  spec.set_tensor(2);
  v1alpha1::Mesh mesh = LayOutRanks(spec, 8);
  EXPECT_EQ(mesh.pipeline(), 2);
  EXPECT_EQ(mesh.data(), 2);
  EXPECT_EQ(WorkersThatForm(spec, 2, 5), 4);
  EXPECT_EQ(WorkersThatForm(spec, 2, 1), 0) << "one group, and two stages";
  EXPECT_EQ(WorkersThatForm(spec, 4, 1), 1) << "both stages are on one worker";
  spec.set_zero(1);
  spec.set_shard(2);
  mesh = LayOutRanks(spec, 16);
  EXPECT_EQ(mesh.data(), 2);
  EXPECT_EQ(mesh.shard(), 2);
  EXPECT_EQ(WorkersThatForm(spec, 2, 7), 4) << "a multiple of two stages of two shards";
  EXPECT_EQ(WorkersThatForm(spec, 2, 3), 0);
  spec.set_min_shard(1);
  EXPECT_EQ(WorkersThatForm(spec, 2, 3), 2);
}

TEST(LayoutTest, RanksThatDivideSequencesCountAsOneAndHoldTheSame) {
  v1alpha1::ParallelismSpec spec;
  spec.set_context(2);
  spec.set_tensor(2);
  spec.set_zero(1);
  EXPECT_EQ(RanksOfMicroBatch(spec), 4);
  const v1alpha1::Mesh mesh = LayOutRanks(spec, 8);
  EXPECT_EQ(mesh.data(), 1);
  EXPECT_EQ(mesh.shard(), 2);
  EXPECT_EQ(mesh.context(), 2);
  const int slices[] = {0, 2, 0, 2, 1, 3, 1, 3};
  for (int rank = 0; rank < 8; ++rank) {
    EXPECT_EQ(SliceOfRank(mesh, rank).shard(), slices[rank]) << rank;
    EXPECT_EQ(SliceOfRank(mesh, rank).shards(), 4);
  }
}

// Four ranks of a context group are on two workers of two ranks.
TEST(LayoutTest, AContextGroupMaySpanWorkersWhichThenFormARoundByMultiples) {
  v1alpha1::ParallelismSpec spec;
  spec.set_context(4);
  EXPECT_EQ(WorkersThatForm(spec, 2, 5), 4);
  EXPECT_EQ(WorkersThatForm(spec, 2, 1), 0);
  EXPECT_EQ(WorkersThatForm(spec, 4, 3), 3);
  spec.set_zero(1);
  spec.set_shard(2);
  EXPECT_EQ(WorkersThatForm(spec, 2, 7), 4);
}

TEST(LayoutTest, TheSlicesOfACopyAreNumberedStageAfterStage) {
  v1alpha1::Mesh mesh;
  mesh.set_data(2);
  mesh.set_shard(1);
  mesh.set_tensor(2);
  mesh.set_pipeline(2);
  const int slices[] = {0, 1, 0, 1, 2, 3, 2, 3};
  for (int rank = 0; rank < 8; ++rank) {
    const v1alpha1::StateSlice slice = SliceOfRank(mesh, rank);
    EXPECT_EQ(slice.shard(), slices[rank]) << rank;
    EXPECT_EQ(slice.shards(), 4);
    EXPECT_EQ(slice.stages(), 2);
  }
}

// Ranks 0 and 1 divide the model, and 0 and 2 what they have of it.
TEST(LayoutTest, TheSlicesOfACopyAreNumberedPartAfterPart) {
  v1alpha1::Mesh mesh;
  mesh.set_data(2);
  mesh.set_shard(2);
  mesh.set_tensor(2);
  const int slices[] = {0, 2, 1, 3, 0, 2, 1, 3};
  for (int rank = 0; rank < 8; ++rank) {
    const v1alpha1::StateSlice slice = SliceOfRank(mesh, rank);
    EXPECT_EQ(slice.shard(), slices[rank]) << rank;
    EXPECT_EQ(slice.shards(), 4);
    EXPECT_EQ(slice.parts(), 2);
  }
  EXPECT_EQ(SliceOfRank({}, 5).shards(), 1);
}

TEST(LayoutTest, TheLargestMultipleOfShardFormsARound) {
  EXPECT_EQ(Form(4, std::nullopt, 1, 8), 8);
  EXPECT_EQ(Form(4, std::nullopt, 1, 7), 4);
  EXPECT_EQ(Form(4, std::nullopt, 2, 7), 6) << "12 of 14 ranks";
  EXPECT_EQ(Form(4, std::nullopt, 8, 7), 7) << "every worker has two copies";
  EXPECT_EQ(Form(16, std::nullopt, 8, 3), 2);
}

TEST(LayoutTest, FewerRanksThanShardFormNoRoundUnlessTheJobAllowsIt) {
  EXPECT_EQ(Form(4, std::nullopt, 1, 3), 0);
  EXPECT_EQ(Form(4, 3, 1, 3), 3);
  EXPECT_EQ(Form(4, 3, 1, 2), 0);
  EXPECT_EQ(Form(4, 1, 1, 7), 4) << "a whole copy is never made for want of a divisor";
}

TEST(LayoutTest, AnotherDegreeThatLeavesNoRankMoreFormsARoundWhereNoMultipleDoes) {
  EXPECT_EQ(Form(4, std::nullopt, 6, 1), 1) << "six ranks divide the state";
  EXPECT_EQ(Form(4, std::nullopt, 6, 3), 2);
}

TEST(LayoutTest, WithoutShardAllRanksFormARound) {
  EXPECT_EQ(Form(std::nullopt, std::nullopt, 1, 7), 7);
  EXPECT_EQ(Form(1, std::nullopt, 1, 7), 7);
  EXPECT_EQ(Form(4, std::nullopt, 1, 0), 0);
}

}  // namespace
}  // namespace muster::planner
