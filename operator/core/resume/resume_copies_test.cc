// Tests where a round goes on that has copies of the state in memory.
#include "operator/core/resume/resume.h"

#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "operator/core/testing/rank_positions.h"

namespace muster::control {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using v1alpha1::ResumePoint;

// Copies of the floor's history and branch.
RankPosition WithCopies(RankPosition position, std::vector<Version> versions, int shard = 0,
                        int shards = 1) {
  for (const Version& version : versions) {
    auto* copy = position.add_copies();
    *copy->mutable_version() = version;
    copy->set_history("aa");
    copy->mutable_slice()->set_shard(shard);
    copy->mutable_slice()->set_shards(shards);
  }
  return position;
}

RankPosition Saved(RankPosition position, std::vector<Version> versions) {
  position = WithCheckpoints(std::move(position), std::move(versions));
  for (auto& ref : *position.mutable_checkpoints()) ref.set_history("aa");
  return position;
}

ResumeOptions FloorAt(int64_t step, int64_t attempt) {
  ResumeOptions options;
  options.min_attempt = 9;
  options.floor = Floor{step, "aa", attempt};
  return options;
}

TEST(DecideResumeTest, CopiesInMemoryAreLoadedRatherThanAnOlderCheckpoint) {
  const RankPosition rank = Saved(WithCopies({}, {V(20, 3), V(15, 3)}), {V(10, 3)});
  const ResumeDecision decision = DecideResume({rank, rank}, FloorAt(10, 3));
  EXPECT_EQ(decision.reason, ResumeReason::kMemory);
  EXPECT_EQ(decision.point.source(), ResumePoint::MEMORY);
  EXPECT_EQ(Order(decision.point.version()), Order(V(20, 3)));
  EXPECT_EQ(decision.point.history(), "aa");
  EXPECT_EQ(decision.point.next_attempt(), 9);
  EXPECT_THAT(Receivers(decision), IsEmpty());
  EXPECT_EQ(decision.point.slices_size(), 0);
  EXPECT_EQ(decision.sentence,
            "no rank holds live state; loading the copies of step 20 (attempt 3) in memory");
}

TEST(DecideResumeTest, ANewerCheckpointWinsOverCopies) {
  const RankPosition rank = Saved(WithCopies({}, {V(20, 3)}), {V(25, 3)});
  const ResumeDecision decision = DecideResume({rank}, FloorAt(10, 3));
  EXPECT_EQ(decision.reason, ResumeReason::kCheckpoint);
  EXPECT_EQ(decision.point.version().step(), 25);
}

TEST(DecideResumeTest, CopiesOfABranchThatWasGivenUpAreNotLoaded) {
  const RankPosition rank = Saved(WithCopies({}, {V(20, 3)}), {V(10, 2)});
  EXPECT_EQ(DecideResume({rank}, FloorAt(10, 4)).reason, ResumeReason::kCheckpoint);
}

TEST(DecideResumeTest, AJobThatHasNotBegunHasNoCopies) {
  const RankPosition rank = WithCopies({}, {V(20, 3)});
  EXPECT_EQ(DecideResume({rank}).reason, ResumeReason::kFresh);
}

TEST(DecideResumeTest, LiveStateThatIsAsNewWinsOverCopies) {
  RankPosition live = WithCopies(At(V(22, 3)), {V(20, 3)});
  live.set_history("aa");
  const ResumeDecision decision = DecideResume({live, WithCopies({}, {V(20, 3)})}, FloorAt(10, 3));
  EXPECT_EQ(decision.reason, ResumeReason::kLiveBehind);
  EXPECT_EQ(decision.point.version().step(), 22);
}

TEST(DecideResumeTest, ARankWithoutACopyReceivesFromOneThatHas) {
  RankPosition behind = At(V(12, 3));
  behind.set_history("aa");
  const ResumeDecision decision =
      DecideResume({behind, WithCopies({}, {V(20, 3)})}, FloorAt(10, 3));
  EXPECT_EQ(decision.reason, ResumeReason::kMemory);
  EXPECT_THAT(Receivers(decision), ElementsAre(0));
  EXPECT_EQ(decision.point.donor(), 1);
  EXPECT_EQ(decision.sentence,
            "no live state is as new; loading the copies of step 20 (attempt 3) in memory, which "
            "1 of 2 ranks receive from others");
}

// Rank 0 lives on at step 22, whose other half died with rank 1's process.
TEST(DecideResumeTest, ASliceThatDiedTakesEveryRankBackToTheCopies) {
  RankPosition live = WithCopies(At(V(22, 3)), {V(20, 3)}, 0, 2);
  live.set_history("aa");
  live.mutable_slice()->set_shards(2);
  const ResumeDecision decision =
      DecideResume({live, WithCopies({}, {V(20, 3)}, 1, 2)}, FloorAt(10, 3));
  EXPECT_EQ(decision.reason, ResumeReason::kMemory);
  EXPECT_EQ(decision.point.version().step(), 20);
  ASSERT_EQ(decision.point.slices_size(), 2);
  EXPECT_EQ(decision.point.slices(1).shard(), 1);
  EXPECT_EQ(decision.point.slices(1).shards(), 2);
  EXPECT_THAT(decision.sentence, HasSubstr("in memory: 2 steps are lost"));
}

// Three ranks divided the state, and the worker of the middle one is gone. Rank 1 of the new round
// is on the worker that kept its replicas.
TEST(DecideResumeTest, ASliceLostWithItsWorkerIsReadFromTheReplicaThatASurvivorKeeps) {
  RankPosition first = WithCopies(At(V(22, 3)), {V(20, 3), V(15, 3)}, 0, 3);
  RankPosition second = WithCopies(At(V(22, 3)), {V(20, 3), V(15, 3)}, 2, 3);
  for (RankPosition* rank : {&first, &second}) rank->set_history("aa");
  first = Shard(0, 3, std::move(first));
  second = Shard(2, 3, std::move(second));
  *second.mutable_replicas() = WithCopies({}, {V(20, 3), V(15, 3)}, 1, 3).copies();
  for (auto& replica : *second.mutable_replicas()) replica.set_bytes(4096);
  const ResumeDecision decision = DecideResume({first, second}, FloorAt(10, 3));
  EXPECT_EQ(decision.reason, ResumeReason::kMemory);
  EXPECT_EQ(Order(decision.point.version()), Order(V(20, 3)));
  EXPECT_THAT(Receivers(decision), IsEmpty());
  EXPECT_THAT(Slices(decision), ElementsAre(std::pair(0, 3), std::pair(2, 3)));
  ASSERT_EQ(decision.point.replicas_size(), 1);
  EXPECT_EQ(decision.point.replicas(0).rank(), 1);
  EXPECT_EQ(decision.point.replicas(0).slice().shard(), 1);
  EXPECT_EQ(decision.point.replicas(0).slice().shards(), 3);
  EXPECT_EQ(decision.sentence,
            "the live state of step 22 (attempt 3) is not whole: no rank holds the part from 1/3 "
            "to 2/3 of it; loading the copies of step 20 (attempt 3) in memory, with 1 slice that "
            "no rank has from replicas of 4096 bytes at rank 1: 2 steps are lost");
}

}  // namespace
}  // namespace muster::control
