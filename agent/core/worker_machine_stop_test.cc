// The worker machine at its end: finished, stopped, terminated, orphaned.
#include "agent/core/worker_machine.h"

#include <csignal>
#include <vector>

#include "absl/time/time.h"
#include "agent/core/worker_machine_test_util.h"
#include "base/exit_codes.h"
#include "gtest/gtest.h"

namespace muster::agent {
namespace {

TEST(WorkerMachineStopTest, FinishesThenStopsWithZero) {
  World world;
  world.Welcome(1);
  world.Run(1, 1);
  world.TakeSaid();
  world.Finished(0);
  world.Finished(1);
  const auto said = world.TakeSaid();
  ASSERT_EQ(said.size(), 1u);
  EXPECT_TRUE(said[0].finished().succeeded());
  EXPECT_EQ(said[0].finished().version().step(), 10);
  world.End(0, 0);
  EXPECT_TRUE(world.TakeSaid().empty()) << "the end of a finished rank is no failure";
  EXPECT_FALSE(world.exited());
  world.Stop(1, 1, false);
  EXPECT_EQ(world.TakeSignals(1), std::vector<int>{SIGTERM});
  world.End(1, 143, SIGTERM);
  EXPECT_EQ(world.exit_code(), 0);
}

TEST(WorkerMachineStopTest, AFinishedWorkerTakesPartInALaterRound) {
  World world;
  world.Welcome(1);
  world.Run(1, 1);
  world.Finished(0);
  world.Finished(1);
  world.End(0, 0);
  world.Prepare(1, 2);
  EXPECT_EQ(world.generation(0), 2);
  EXPECT_EQ(world.generation(1), 1) << "its state is live: it may be the donor";
  EXPECT_TRUE(world.TakeTold(1).back().has_prepare());
  world.Ready(0, Round(1, 2));
  world.TakeSaid();
  world.Ready(1, Round(1, 2));
  EXPECT_TRUE(world.TakeSaid()[0].has_ready());
}

TEST(WorkerMachineStopTest, StopWithSaveWaitsForTheRanksToFinish) {
  World world;
  world.Welcome(1);
  world.Run(1, 1);
  world.TakeTold(0);
  world.Stop(1, 1, true);
  const auto told = world.TakeTold(0);
  ASSERT_EQ(told.size(), 1u);
  EXPECT_TRUE(told[0].stop().save());
  world.Pass(absl::Seconds(30), {0, 1});
  EXPECT_TRUE(world.TakeSignals(0).empty()) << "a checkpoint may take its time";
  world.TakeSaid();
  world.Finished(0);
  world.Finished(1);
  world.EndKilled();
  EXPECT_EQ(world.exit_code(), 0);
  EXPECT_TRUE(world.TakeSaid().back().finished().succeeded());
}

// Regression: the ranks were ended after a minute, with steps that only a full disk kept from being
// saved.
TEST(WorkerMachineStopTest, AStopWhoseSaveFailsWaitsForAnotherOrder) {
  World world;
  world.Welcome(1);
  world.Run(1, 1);
  world.Stop(1, 1, true);
  v1alpha1::FromTrainer failed;
  failed.mutable_checkpoint()->set_phase(v1alpha1::CheckpointReport::FAILED);
  for (int i = 0; i < 10; ++i) {
    world.FromRank(0, failed);
    world.Pass(absl::Seconds(30), {0, 1});
  }
  EXPECT_TRUE(world.TakeSignals(0).empty());
  world.Stop(1, 1, false);
  EXPECT_EQ(world.TakeSignals(0), std::vector<int>{SIGTERM});
}

TEST(WorkerMachineStopTest, RanksWhoseRoundHasBrokenHaveTheTimeOfASaveToo) {
  World world;
  world.Welcome(1);
  world.Run(1, 1);
  v1alpha1::FromTrainer message;
  *message.mutable_stalled()->mutable_round() = Round(1, 1);
  for (int rank : {0, 1}) world.FromRank(rank, message);
  world.TakeTold(0);
  world.Stop(1, 1, true);
  EXPECT_TRUE(world.TakeTold(0).back().stop().save());
  world.Pass(absl::Seconds(50), {0, 1});
  EXPECT_TRUE(world.TakeSignals(0).empty()) << "it still saves";
  world.Pass(absl::Seconds(11), {0, 1});
  EXPECT_EQ(world.TakeSignals(0), std::vector<int>{SIGTERM});
}

TEST(WorkerMachineStopTest, StopTwiceStopsAtOnceAndStubbornRanksAreKilled) {
  World world;
  world.Welcome(1);
  world.Run(1, 1);
  world.Stop(1, 1, true);
  world.Stop(1, 1, false);
  EXPECT_EQ(world.TakeSignals(0), std::vector<int>{SIGTERM});
  world.Pass(absl::Seconds(6), {0, 1});
  EXPECT_EQ(world.TakeSignals(0), std::vector<int>{SIGKILL});
  world.End(0, 137, SIGKILL);
  EXPECT_FALSE(world.exited());
  world.End(1, 137, SIGKILL);
  EXPECT_TRUE(world.exited());
  EXPECT_FALSE(world.TakeSaid().back().finished().succeeded());
}

TEST(WorkerMachineStopTest, TheExitCodeIsThatOfTheRankThatFailed) {
  World world;
  world.Welcome(1, "Shrink");
  world.Run(1, 1);
  world.End(0, 137, SIGKILL);
  world.Stop(1, 1, false);
  world.EndKilled();
  world.Pass(absl::Seconds(20), {1});
  world.EndKilled();
  EXPECT_EQ(world.exit_code(), 137);
}

TEST(WorkerMachineStopTest, TerminatedSavesButDoesNotVoteToStopTheOthers) {
  World world;
  world.Welcome(1);
  world.Run(1, 1);
  world.TakeTold(0);
  world.Do(Terminate{SIGTERM});
  const auto told = world.TakeTold(0);
  ASSERT_EQ(told.size(), 1u);
  EXPECT_TRUE(told[0].has_save());
  EXPECT_TRUE(world.TakeSignals(0).empty());
  v1alpha1::FromTrainer message;
  message.mutable_checkpoint()->set_phase(v1alpha1::CheckpointReport::STARTED);
  world.FromRank(0, message);
  EXPECT_TRUE(world.TakeSignals(0).empty());
  message.mutable_checkpoint()->set_phase(v1alpha1::CheckpointReport::WRITTEN);
  world.FromRank(0, message);
  EXPECT_EQ(world.TakeSignals(0), std::vector<int>{SIGTERM});
  world.End(0, 143, SIGTERM);
  world.End(1, 143, SIGTERM);
  EXPECT_EQ(world.exit_code(), 128 + SIGTERM);
}

TEST(WorkerMachineStopTest, TerminatedItDoesNotWaitForACheckpointThatCannotCome) {
  World world;
  world.Welcome(1);
  world.Run(1, 1);
  world.Do(Terminate{SIGTERM});
  v1alpha1::FromTrainer message;
  *message.mutable_stalled()->mutable_round() = Round(1, 1);
  world.FromRank(0, message);
  EXPECT_EQ(world.TakeSignals(0), std::vector<int>{SIGTERM});
  EXPECT_EQ(world.TakeSignals(1), std::vector<int>{SIGTERM});
}

TEST(WorkerMachineStopTest, TerminatedWithoutRanksExitsAtOnce) {
  World world;
  world.Do(Terminate{SIGINT});
  EXPECT_EQ(world.exit_code(), 128 + SIGINT);
}

TEST(WorkerMachineStopTest, AnOrphanSavesStopsAndExits) {
  World world;
  world.Welcome(1);
  world.Run(1, 1);
  world.Do(StreamClosed{});
  world.TakeTold(0);
  world.Pass(absl::Seconds(59), {0, 1});
  EXPECT_TRUE(world.TakeTold(0).empty());
  world.Pass(absl::Seconds(2), {0, 1});
  const auto told = world.TakeTold(0);
  ASSERT_EQ(told.size(), 1u);
  EXPECT_TRUE(told[0].stop().save());
  world.Finished(0);
  world.Finished(1);
  world.EndKilled();
  EXPECT_EQ(world.exit_code(), kExitOrphaned);
}

// While the API server is away there is no leader, for any length of time.
TEST(WorkerMachineStopTest, AWorkerThatAStandbyAnswersIsNoOrphan) {
  World world;
  world.Welcome(1);
  world.Run(1, 1);
  world.Do(StreamClosed{});
  v1alpha1::OperatorMessage not_leader;
  not_leader.mutable_not_leader();
  for (int i = 0; i < 10; ++i) {
    world.Pass(absl::Seconds(50), {0, 1});
    world.Do(StreamOpened{});
    world.Do(OperatorMessageReceived{not_leader});
    world.Do(StreamClosed{});
  }
  EXPECT_FALSE(world.exited());
  world.TakeTold(0);
  world.Pass(absl::Seconds(61), {0, 1});
  ASSERT_EQ(world.TakeTold(0).size(), 1u) << "the standby is gone, too";
}

TEST(WorkerMachineStopTest, AWorkerThatWasNeverAttachedIsAnOrphanToo) {
  World world;
  world.Pass(absl::Seconds(61));
  EXPECT_EQ(world.exit_code(), kExitOrphaned);
}

// A command of two ranks that runs in round 1 of term 1.
void RunCommand(World& world) {
  world.Welcome(1, "RestartRank", /*trainer=*/false);
  world.Prepare(1, 1);
  world.Go(1, 1);
}

World CommandWithGrace(absl::Duration grace) {
  WorkerConfig config = TwoRanks();
  SetPodGrace(grace, config);
  return World(config);
}

TEST(WorkerMachineStopTest, ATerminatedCommandMaySaveForMostOfThePodsGrace) {
  World world = CommandWithGrace(absl::Seconds(30));
  RunCommand(world);
  world.Do(Terminate{SIGTERM});
  EXPECT_EQ(world.TakeSignals(0), std::vector<int>{SIGTERM});
  world.Pass(absl::Milliseconds(24900));
  EXPECT_TRUE(world.TakeSignals(0).empty()) << "it saves";
  world.Pass(absl::Milliseconds(200));
  EXPECT_EQ(world.TakeSignals(0), std::vector<int>{SIGKILL});
}

TEST(WorkerMachineStopTest, ACommandThatIsToldToSaveHasTheSameTimeAndElseTheUsual) {
  for (const bool save : {true, false}) {
    World world = CommandWithGrace(absl::Seconds(30));
    RunCommand(world);
    world.Stop(1, 1, save);
    world.Pass(absl::Seconds(6));
    EXPECT_EQ(world.TakeSignals(0).size(), save ? 1u : 2u) << save;
  }
}

// The operator starts a replacement 30 s after the orphan deadline, which is 60 s here.
TEST(WorkerMachineStopTest, ACommandsSaveEndsBeforeTheOperatorReliesOnItsEnd) {
  World world = CommandWithGrace(absl::Minutes(10));
  RunCommand(world);
  world.Do(StreamClosed{});
  world.Pass(absl::Seconds(50));
  world.Do(Terminate{SIGTERM});
  world.Pass(absl::Seconds(26));
  EXPECT_EQ(world.TakeSignals(0), (std::vector<int>{SIGTERM, SIGKILL}));
}

TEST(WorkerMachineStopTest, ACommandThatEndedIsNotStartedAgainByALaterRound) {
  World world;
  RunCommand(world);
  world.End(0, 0);
  world.End(1, 0);
  world.TakeSaid();
  world.Prepare(1, 2);
  const auto said = world.TakeSaid();
  ASSERT_EQ(said.size(), 2u);
  EXPECT_TRUE(said[0].finished().succeeded()) << "said again: the operator may have missed it";
  EXPECT_EQ(said[0].finished().round().round(), 1);
  EXPECT_EQ(said[1].refused().reason(), "this worker's command has ended");
  world.Go(1, 2);
  EXPECT_EQ(world.generation(0), 1);
  EXPECT_EQ(world.generation(1), 1);
}

// The kubelet reports the exit code to the next operator, which had no contact with the agent.
TEST(WorkerMachineStopTest, TerminatedAfterItsWorkWasDoneItEndsWithZero) {
  World world;
  RunCommand(world);
  world.Do(StreamClosed{});
  world.End(0, 0);
  world.End(1, 0);
  world.Do(Terminate{SIGTERM});
  EXPECT_EQ(world.exit_code(), kExitOk);
}

TEST(WorkerMachineStopTest, AnOrphanWhoseWorkIsDoneEndsWithZero) {
  World world;
  RunCommand(world);
  world.Do(StreamClosed{});
  world.End(0, 0);
  world.End(1, 0);
  world.Pass(absl::Seconds(61));
  EXPECT_EQ(world.exit_code(), kExitOk);
}

void WelcomeForEver(World& world) {
  world.Do(StreamOpened{});
  v1alpha1::OperatorMessage message;
  message.mutable_welcome()->set_term(1);
  message.mutable_welcome()->set_orphan_deadline_seconds(
      absl::ToDoubleSeconds(absl::InfiniteDuration()));
  world.Say(message);
}

TEST(WorkerMachineStopTest, ACommandIsNotEndedForAMissingOperatorThatSetNoDeadline) {
  World world;
  WelcomeForEver(world);
  world.Prepare(1, 1);
  world.Go(1, 1);
  world.Do(StreamClosed{});
  world.Pass(absl::Minutes(30));
  EXPECT_TRUE(world.alive(0) && world.alive(1));
  EXPECT_TRUE(world.TakeSignals(0).empty());
}

// The leader counts the deadline from its last contact with the worker, whatever standbys answer.
TEST(WorkerMachineStopTest, AStandbyThatKnowsALeaderDoesNotKeepACommandAlive) {
  World world;
  RunCommand(world);
  world.Do(StreamClosed{});
  v1alpha1::OperatorMessage not_leader;
  not_leader.mutable_not_leader()->set_address("leader:1");
  world.Pass(absl::Seconds(50));
  world.Do(StreamOpened{});
  world.Do(OperatorMessageReceived{not_leader});
  world.Do(StreamClosed{});
  world.Pass(absl::Seconds(11));
  EXPECT_EQ(world.TakeSignals(0), std::vector<int>{SIGTERM});
}

// Simulates a paused virtual machine: its ranks are thawed with it and continue to write.
TEST(WorkerMachineStopTest, ACommandFrozenForLongerThanItsDeadlineIsKilledFirst) {
  for (const bool attached : {true, false}) {
    World world;
    RunCommand(world);
    if (!attached) {
      world.Do(StreamClosed{});
      world.Pass(absl::Seconds(40));
    }
    world.now() += attached ? absl::Seconds(66) : absl::Seconds(26);
    world.Do(StreamOpened{});  // any event may come first
    for (const int rank : {0, 1}) EXPECT_EQ(world.TakeSignals(rank), std::vector<int>{SIGKILL});
    world.End(0, 137, SIGKILL);
    world.End(1, 137, SIGKILL);
    EXPECT_EQ(world.exit_code(), kExitOrphaned);
  }
}

TEST(WorkerMachineStopTest, ACommandFrozenForLessGoesOn) {
  World world;
  RunCommand(world);
  for (int i = 0; i < 5; ++i) {
    world.now() += absl::Seconds(59);
    world.Do(Tick{});
  }
  EXPECT_TRUE(world.TakeSignals(0).empty());
  // The operator does not extend the deadline of a detached agent, so the agent does not either.
  world.Do(StreamClosed{});
  world.now() += absl::Seconds(59);
  world.Do(Tick{});
  EXPECT_TRUE(world.TakeSignals(0).empty());
  world.Pass(absl::Seconds(2));
  EXPECT_EQ(world.TakeSignals(0), std::vector<int>{SIGTERM}) << "there is time for a last word";
}

TEST(WorkerMachineStopTest, AFreezeEndsNoWorkerThatIsNotReplaced) {
  WorkerConfig beside = TwoRanks();
  beside.shares_machine = true;  // the operator was frozen, too
  World local(beside);
  RunCommand(local);
  World for_ever;
  WelcomeForEver(for_ever);
  for_ever.Prepare(1, 1);
  for_ever.Go(1, 1);
  World trainer;  // cannot write without the others
  trainer.Welcome(1);
  trainer.Run(1, 1);
  for (World* world : {&local, &for_ever, &trainer}) {
    world->now() += absl::Hours(1);
    world->Do(Tick{});
    EXPECT_TRUE(world->TakeSignals(0).empty());
    EXPECT_TRUE(world->alive(0));
  }
}

// A pause may show on no clock; then this is the agent's first notice of it.
TEST(WorkerMachineStopTest, ACommandWhoseReplacementRunsIsKilledAtOnce) {
  World world;
  RunCommand(world);
  world.Do(StreamClosed{});
  EXPECT_TRUE(world.TakeSignals(0).empty());
  world.Do(StreamOpened{});
  world.Do(StreamClosed{.replaced = true});
  for (const int rank : {0, 1}) EXPECT_EQ(world.TakeSignals(rank), std::vector<int>{SIGKILL});
  for (const int rank : {0, 1}) world.End(rank, 137, SIGKILL);
  EXPECT_EQ(world.exit_code(), kExitOrphaned);
}

// The job continues without this worker if onRankFailure is Shrink: see
// operator/core/round/elastic.h.
TEST(WorkerMachineStopTest, ACommandsWorkerThatIsLeftOutEndsTheRanksItStillRuns) {
  World world;
  world.Welcome(1, "Shrink", /*trainer=*/false);
  world.Prepare(1, 1);
  world.Go(1, 1);
  world.End(0, 7);
  EXPECT_TRUE(world.TakeSignals(1).empty());
  world.Stop(1, 1, /*save=*/false);
  EXPECT_EQ(world.TakeSignals(1), std::vector<int>{SIGTERM});
  world.End(1, 143, SIGTERM);
  EXPECT_EQ(world.exit_code(), 7);
}

}  // namespace
}  // namespace muster::agent
