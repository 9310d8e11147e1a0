// Tests the ranks of a trainer between Welcome and the worker's first round.
#include "absl/time/time.h"
#include "agent/core/worker_machine.h"
#include "agent/core/worker_machine_test_util.h"
#include "gtest/gtest.h"

namespace muster::agent {
namespace {

using Phase = WorkerMachine::Phase;

TEST(WorkerMachineEarlyTest, ATrainersRanksStartWithWelcomeAndTheFirstRoundFindsThemLoaded) {
  World world;
  world.Welcome(1);
  for (const int rank : {0, 1}) {
    EXPECT_TRUE(world.alive(rank));
    const auto told = world.TakeTold(rank);
    ASSERT_EQ(told.size(), 1u);
    EXPECT_EQ(told[0].configure().local_rank(), rank);
    EXPECT_EQ(world.placement(rank).rank, 2 + rank) << "as in a round of all workers";
  }
  world.Prepare(1, 1);
  for (const int rank : {0, 1}) {
    EXPECT_EQ(world.generation(rank), 1) << "no other process";
    const auto told = world.TakeTold(rank);
    ASSERT_EQ(told.size(), 1u);
    EXPECT_EQ(told[0].prepare().rank(), 2 + rank);
  }
}

TEST(WorkerMachineEarlyTest, TheOperatorIsToldAtOnceWhenTheLastRankHasLoaded) {
  World world;
  world.Do(StreamOpened{});
  EXPECT_TRUE(world.said_loading()) << "before Welcome nobody knows what will load";
  world.Welcome(1);
  world.Hello(0);
  world.Pass(absl::Milliseconds(200));
  EXPECT_TRUE(world.said_loading());
  world.Hello(1);
  world.Pass(absl::Milliseconds(100));
  EXPECT_FALSE(world.said_loading());
}

TEST(WorkerMachineEarlyTest, ACommandsRanksAreStartedByTheirRoundAlone) {
  World world;
  world.Welcome(1, "RestartRank", /*trainer=*/false);
  EXPECT_FALSE(world.alive(0));
  world.Pass(absl::Milliseconds(100));
  EXPECT_FALSE(world.said_loading());
}

TEST(WorkerMachineEarlyTest, RanksThatWereStartedWithAnotherSpecAreReplaced) {
  World world;
  world.Welcome(1);
  v1alpha1::TrainingJobSpec edited;
  edited.mutable_trainer()->mutable_train()->set_steps(7);
  world.Edit(edited, "second");
  world.Prepare(1, 1);
  world.EndKilled();
  EXPECT_EQ(world.generation(0), 2);
  for (const int rank : {0, 1}) world.Ready(rank, Round(1, 1));
  EXPECT_TRUE(world.TakeSaid().back().has_ready());
}

// A job that goes on has the steps of its tunings in the spec of a round, and not in Welcome.
TEST(WorkerMachineEarlyTest, RanksAreNotReplacedForOtherTunings) {
  World world;
  world.welcome_spec.emplace().mutable_trainer()->add_tunings()->set_learning_rate(1e-4);
  world.Welcome(1);
  v1alpha1::TrainingJobSpec round = world.spec();
  round.mutable_trainer()->mutable_tunings(0)->set_from_step(41);
  world.Edit(round, "first");
  for (const int rank : {0, 1}) world.TakeTold(rank);
  world.Prepare(1, 1);
  for (const int rank : {0, 1}) {
    EXPECT_EQ(world.generation(rank), 1) << "no other process";
    const auto told = world.TakeTold(rank);
    ASSERT_EQ(told.size(), 1u);
    EXPECT_EQ(told[0].prepare().spec().trainer().tunings(0).from_step(), 41);
  }
}

// The spec in Welcome has the job's template, and that of a round has none.
TEST(WorkerMachineEarlyTest, RanksOfAJobWithATemplateAreNotReplacedByTheirFirstRound) {
  World world;
  world.welcome_spec.emplace().mutable_trainer();
  world.welcome_spec->mutable_template_()->set_raw("{}");
  world.Welcome(1);
  v1alpha1::TrainingJobSpec of_round = world.spec();
  of_round.clear_template_();
  world.Edit(of_round, "first");
  world.Prepare(1, 1);
  EXPECT_TRUE(world.TakeSignals(0).empty());
  EXPECT_EQ(world.generation(0), 1);
}

TEST(WorkerMachineEarlyTest, RanksThatHoldNoStateNeedNotBeReplacedForAFreshRound) {
  World world;
  world.Welcome(1);
  world.Prepare(1, 4, /*fresh=*/true);
  EXPECT_EQ(world.generation(0), 1);
  EXPECT_TRUE(world.TakeSignals(0).empty());
}

TEST(WorkerMachineEarlyTest, ARankThatEndsBeforeTheFirstRoundIsStartedAndJudgedWithIt) {
  World world;
  world.Welcome(1);
  world.TakeSaid();
  world.Finished(0, false);
  world.End(0, 2);
  EXPECT_TRUE(world.TakeSaid().empty()) << "there is no round that it broke";
  EXPECT_EQ(world.machine().phase(), Phase::kWaiting);
  world.Pass(absl::Seconds(20), {1});
  EXPECT_FALSE(world.alive(0)) << "a program that cannot start is not tried again and again";
  world.Prepare(1, 1);
  EXPECT_TRUE(world.alive(0));
  world.Finished(0, false);
  world.End(0, 2);
  const auto said = world.TakeSaid();
  ASSERT_FALSE(said.empty());
  EXPECT_EQ(said.back().finished().message(), "the data are no text");
  EXPECT_EQ(said.back().finished().exit_code(), 2);
}

TEST(WorkerMachineEarlyTest, AStopBeforeTheFirstRoundEndsThemAndTheWorkerWell) {
  for (const bool loaded : {false, true}) {
    World world;
    world.Welcome(1);
    for (const int rank : {0, 1}) {
      if (loaded) world.Hello(rank);
    }
    world.Stop(1, 1, /*save=*/true);
    for (const int rank : {0, 1}) {
      if (!loaded) continue;
      world.Finished(rank, true, 0);
      world.End(rank, 0);
    }
    if (!loaded) world.EndKilled();
    EXPECT_TRUE(world.exited());
    EXPECT_EQ(world.exit_code(), 0);
  }
}

TEST(WorkerMachineEarlyTest, AnotherOperatorFindsTheRanksThatTheFirstHadStarted) {
  World world;
  world.Welcome(1);
  world.Do(StreamClosed{});
  world.Welcome(2);
  EXPECT_EQ(world.generation(0), 1);
  for (const int rank : {0, 1}) world.Hello(rank);
  world.Do(StreamClosed{});
  world.Do(StreamOpened{});
  EXPECT_FALSE(world.said_loading());
}

}  // namespace
}  // namespace muster::agent
