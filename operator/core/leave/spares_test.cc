// Tests how spares take the ranks of lost workers, and that waiting spares do not delay the round.
#include "operator/core/leave/spares.h"

#include <numeric>
#include <string>
#include <variant>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "operator/core/state/conditions.h"
#include "operator/core/testing/spares_fixture.h"

namespace muster::control {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

TEST_F(SparesTest, ASpareWaitsAndCountsAsNoWorkerThatTrains) {
  EXPECT_TRUE(Trains());
  EXPECT_EQ(Ranks(), "0 1 2");
  EXPECT_FALSE(Status().elastic().has_wanted());
  EXPECT_EQ(Status().workers().desired(), 3);
  EXPECT_EQ(Status().workers().ready(), 3);
  EXPECT_EQ(Status().workers().spares(), 1);
  EXPECT_EQ(world_.Condition(ConditionType::kDegraded), "False/AllWorkers");
  const auto& ranks = world_.memory.ledger.ranks;
  EXPECT_EQ(std::accumulate(ranks.begin(), ranks.end(), 0), 3) << "a spare is not in the ledger";
}

TEST_F(SparesTest, ASpareTakesTheRanksOfALostWorkerWithoutWaiting) {
  MakeProgress(5);
  Lose(1);
  const Plan plan = world_.Decide();
  EXPECT_EQ(OrderTexts(plan), "Prepare:0 Prepare:3 Prepare:2") << plan.sentence;
  const auto& order = std::get<PrepareOrder>(plan.orders[1].what);
  EXPECT_EQ(order.place.member.first_rank(), 1);
  EXPECT_EQ(order.place.group_rank, 1);
  EXPECT_EQ(order.place.world_size, 3);
  EXPECT_EQ(order.copies_of, 1);
  EXPECT_EQ(Status().incarnations(1), 2) << "the replacement is on its way";

  world_.Advance(absl::Seconds(2));
  Join();
  EXPECT_EQ(Status().swap().workers(), "1");
  EXPECT_EQ(Status().swap().spares(), "3");
  EXPECT_EQ(Status().swap().round(), 2);
  EXPECT_DOUBLE_EQ(Status().swap().pause_seconds(), 2);
  EXPECT_EQ(Status().workers().spares(), 0);

  Start(1);
  world_.Advance(absl::Minutes(5));
  EXPECT_THAT(world_.Decide().orders, IsEmpty()) << "the replacement is a spare now";
  EXPECT_EQ(Ranks(), "0 3 2");
  EXPECT_EQ(Status().workers().spares(), 1);
}

// Under load the others' ranks tell of the loss before the worker's stream and pod do.
TEST_F(SparesTest, ASpareTakesTheRanksAtOnceThoughTheOthersStalledBeforeTheLossWasSeen) {
  MakeProgress(5);
  StallReport stall;
  stall.round = world_.memory.id;
  stall.error = "the connection was closed";
  Agent(0).stalls.push_back(stall);
  world_.Decide();
  ASSERT_EQ(Ranks(), "0 1 2") << "nobody is known to be lost";
  Lose(1);
  world_.Decide();
  EXPECT_EQ(Ranks(), "0 3 2");
  EXPECT_EQ(world_.memory.phase, RoundPhase::kPreparing);
  Join();
  EXPECT_EQ(Status().swap().workers(), "1");
  EXPECT_EQ(Status().swap().spares(), "3");
}

TEST_F(SparesTest, AReplacementThatStillLoadsLeavesItsSeatToASpare) {
  MakeProgress(5);
  Agent(3).loading = true;
  Lose(1);
  world_.Decide();
  ASSERT_EQ(world_.memory.phase, RoundPhase::kHolding);
  Start(1);
  Agent(1).loading = true;
  Agent(3).loading = false;
  world_.Decide();
  EXPECT_EQ(Ranks(), "0 3 2");
}

TEST_F(SparesTest, AReplacementThatStillLoadsHasItsSeatIfNoSpareCanTakeIt) {
  MakeProgress(5);
  Agent(3).loading = true;
  Lose(1);
  world_.Decide();
  Start(1);
  Agent(1).loading = true;
  world_.Decide();
  EXPECT_EQ(Ranks(), "0 1 2");
}

TEST_F(SparesTest, AReplacementThatIsASpareTakesTheNextSeat) {
  LoseToASpare(1);
  Lose(2);
  world_.Decide();
  EXPECT_EQ(Ranks(), "0 3 1");
}

TEST_F(TwoSparesTest, TwoWorkersThatAreLostAtOnceAreReplacedInOneRound) {
  MakeProgress(5);
  Lose(0);
  Lose(2);
  world_.Decide();
  EXPECT_EQ(Ranks(), "3 1 4");
  Join();
  EXPECT_EQ(Status().swap().workers(), "0,2");
  EXPECT_EQ(Status().swap().spares(), "3-4");
}

TEST_F(TwoSparesTest, ASpareLostBeforeItTrainsIsReplacedByAnotherInTheSameRanks) {
  MakeProgress(5);
  Lose(1);
  world_.Decide();
  ASSERT_EQ(Ranks(), "0 3 2");
  Lose(3);
  world_.Advance(absl::Seconds(2));
  world_.Decide();
  world_.Advance(absl::Seconds(2));
  const Plan plan = world_.Decide();
  ASSERT_EQ(Ranks(), "0 4 2") << plan.sentence;
  Join();
  EXPECT_EQ(Status().swap().workers(), "1") << "its copies are the ones to go on from";
  EXPECT_EQ(Status().swap().spares(), "4");
}

TEST_F(SparesTest, AReplacementThatGetsItsOwnRanksBackIsNoSwap) {
  MakeProgress(5);
  Lose(1);
  world_.Decide();
  ASSERT_EQ(Ranks(), "0 3 2");
  Start(1);
  Lose(3);
  world_.Advance(absl::Seconds(2));
  world_.Decide();
  world_.Advance(absl::Seconds(2));
  const Plan plan = world_.Decide();
  ASSERT_EQ(Ranks(), "0 1 2") << plan.sentence;
  Join();
  EXPECT_FALSE(Status().has_swap());
}

TEST_F(SparesTest, WithMoreLossesThanSparesTheJobWaitsForTheReplacementOfTheOthers) {
  MakeProgress(5);
  Lose(1);
  Lose(2);
  Plan plan = world_.Decide();
  EXPECT_EQ(world_.memory.phase, RoundPhase::kHolding);
  EXPECT_THAT(plan.sentence, HasSubstr("2 of 3 workers"));
  Start(2);
  plan = world_.Decide();
  EXPECT_EQ(Ranks(), "0 3 2") << plan.sentence;
}

TEST_F(SparesTest, WithMoreLossesThanSparesAJobThatMayShrinkGoesOnAfterAWhile) {
  world_.view.spec.mutable_workers()->set_min(2);
  MakeProgress(5);
  Lose(1);
  Lose(2);
  world_.Decide();
  EXPECT_EQ(world_.memory.phase, RoundPhase::kHolding);
  world_.Advance(world_.options.replacement_wait + absl::Seconds(1));
  world_.Decide();
  EXPECT_EQ(Ranks(), "0 3");
}

TEST_F(SparesTest, ALostSpareBreaksNoRoundIsNoFailureAndIsReplacedWithABackOff) {
  for (int incarnation = 1; incarnation <= 3; ++incarnation) {
    ASSERT_EQ(Status().incarnations(3), incarnation);
    Lose(3);
    EXPECT_THAT(world_.Decide().orders, IsEmpty());
    if (incarnation > 1) {
      EXPECT_EQ(Status().incarnations(3), incarnation) << "waits";
      world_.view.progress.latest.emplace().mutable_version()->set_step(incarnation);
      world_.Advance(absl::Seconds(5));
      world_.Decide();
    }
    EXPECT_EQ(Status().incarnations(3), incarnation + 1);
    Start(3);
    Agent(3).loading = true;
    world_.Decide();
  }
  EXPECT_TRUE(Trains());
  EXPECT_EQ(Status().failures().count(), 0);
  EXPECT_EQ(Status().round(), 1);
}

TEST_F(SparesTest, ASpareWhoseRankEndsIsNoFailureOfTheJob) {
  ExitReport exit;
  exit.exit_code = 64;
  exit.reason = "Exited";
  Agent(3).exits.push_back(exit);
  world_.Decide();
  EXPECT_TRUE(Trains());
  EXPECT_EQ(Status().failures().count(), 0);
  EXPECT_NE(Status().state(), "Failed");
}

TEST_F(SparesTest, ASpareThatStillLoadsIsNotTakenUntilItHasLoaded) {
  MakeProgress(5);
  Agent(3).loading = true;
  world_.Decide();
  EXPECT_EQ(Status().workers().spares(), 0);
  Lose(1);
  world_.Decide();
  EXPECT_EQ(world_.memory.phase, RoundPhase::kHolding);
  Agent(3).loading = false;
  world_.Advance(absl::Seconds(2));
  world_.Decide();
  EXPECT_EQ(Ranks(), "0 3 2");
}

TEST_F(SparesTest, ASpareThatIsSilentForAMomentHoldsNoRoundUp) {
  world_.view.spec.mutable_workers()->set_count(2);
  world_.view.spec.mutable_workers()->set_spares(2);
  Grant(4);
  world_.Decide();
  Join();
  ASSERT_EQ(Ranks(), "0 1");
  MakeProgress(5);
  Agent(3).attached = false;
  Agent(3).detached_at = world_.view.now;
  Lose(1);
  world_.Decide();
  EXPECT_EQ(Ranks(), "0 2");
}

TEST_F(SparesTest, ANewLeaderKeepsTheSeats) {
  Lose(1);
  world_.Advance(absl::Seconds(2));
  world_.Decide();
  Join();
  Start(1);
  world_.memory = {};
  world_.view.leader_term = 2;
  world_.view.leading_since = world_.view.now;
  world_.Advance(absl::Seconds(1));
  world_.Decide();
  EXPECT_TRUE(Trains());
  EXPECT_EQ(Ranks(), "0 3 2");
  MakeProgress(9);
  Lose(0);
  world_.Decide();
  EXPECT_EQ(Ranks(), "1 3 2");
}

TEST_F(SparesTest, AWorkerLostBetweenTwoLeadersIsReplacedByASpare) {
  Lose(1);
  world_.Advance(absl::Seconds(2));
  world_.Decide();
  Join();
  Start(1);
  world_.Advance(absl::Seconds(1));
  Lose(2);
  world_.memory = {};
  world_.view.leader_term = 2;
  world_.view.leading_since = world_.view.now;
  world_.Advance(absl::Seconds(11));
  world_.Decide();
  EXPECT_EQ(Ranks(), "0 3 1");
}

TEST_F(SparesTest, AWorkerWhoseNodeGoesAwayIsSwappedWithoutAReplacement) {
  MakeProgress(5);
  Pod(1).node_conditions = {{"Ready", "True", ""}};
  Pod(1).node_taints = {{"karpenter.sh/disrupted", "", "NoSchedule"}};
  world_.Decide();
  EXPECT_EQ(Ranks(), "0 3 2");
  EXPECT_EQ(Status().incarnations(1), 1) << "it holds state until the round trains";
  Join();
  world_.Decide();
  EXPECT_EQ(Status().incarnations(1), 2);
}

TEST_F(SparesTest, AJobScaledDownWithASpareInALowSeatKeepsTheOrderOfTheOthers) {
  LoseToASpare(1);
  world_.view.spec.mutable_workers()->set_count(2);
  world_.Decide();
  // The grant of four was made for three and one; two and one are three.
  EXPECT_EQ(Status().elastic().workers(), 3);
  EXPECT_EQ(Ranks(), "0 2");
  Join();
  EXPECT_THAT(world_.Decide().deletes, SizeIs(1));
  EXPECT_EQ(Status().workers().spares(), 1);
}

// AWS recommends to rebalance where the risk of an interruption is raised; most such instances
// stay.
TEST_F(SparesTest, AWorkerFollowsAdviceToLeaveItsNodeOnlyWhileASpareTakesItsSeat) {
  MakeProgress(5);
  for (const int index : {0, 1}) Pod(index).node_notice = NodeNotice{"Rebalance", "AWS", {}};
  world_.Decide();
  EXPECT_EQ(Status().workers().leaving_size(), 1) << "there is one spare";
  EXPECT_EQ(Ranks(), "3 1 2");
  Join();
  world_.Advance(absl::Minutes(30));
  EXPECT_THAT(world_.Decide().orders, IsEmpty());
  EXPECT_EQ(Ranks(), "3 1 2") << "the other one stays";
}

TEST_F(SparesTest, WithoutASpareAdviceChangesNothingAndAnInterruptionCounts) {
  MakeProgress(5);
  Agent(3).attached = false;
  world_.Advance(absl::Minutes(5));
  world_.Decide();
  Pod(1).node_notice = NodeNotice{"Rebalance", "AWS", {}};
  world_.Advance(absl::Minutes(5));
  world_.Decide();
  EXPECT_EQ(Status().workers().leaving_size(), 0);
  EXPECT_EQ(Ranks(), "0 1 2");
  EXPECT_EQ(Status().incarnations(1), 1);
  Pod(1).node_notice = NodeNotice{"Reclaim", "AWS", world_.view.wall + absl::Minutes(2)};
  world_.Decide();
  EXPECT_EQ(Status().incarnations(1), 2) << "it moves to another node";
}

}  // namespace
}  // namespace muster::control
