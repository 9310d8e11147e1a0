#include "agent/core/worker_machine.h"

#include <csignal>
#include <vector>

#include "absl/time/time.h"
#include "agent/core/worker_machine_test_util.h"
#include "gtest/gtest.h"
#include "proto/muster/v1alpha1/protocol.h"

namespace muster::agent {
namespace {

using Phase = WorkerMachine::Phase;

TEST(WorkerMachineTest, PrepareLaunchesTheRanksWithTheirPlacement) {
  World world;
  world.Welcome(3);
  world.Prepare(3, 1);
  EXPECT_EQ(world.placement(1), (RankPlacement{.rank = 3,
                                               .local_rank = 1,
                                               .world_size = 4,
                                               .local_world_size = 2,
                                               .group_rank = 1,
                                               .group_world_size = 2}));
  const auto told = world.TakeTold(1);
  ASSERT_EQ(told.size(), 2u);
  EXPECT_EQ(told[0].configure().local_rank(), 1);
  EXPECT_EQ(told[0].configure().job(), "default/gpt");
  EXPECT_EQ(told[1].prepare().rank(), 3);
  EXPECT_EQ(told[1].prepare().world_size(), 4);
}

TEST(WorkerMachineTest, ARoundGoesFromPrepareToRunning) {
  World world;
  world.Welcome(1);
  world.Prepare(1, 1);
  world.TakeSaid();
  world.Ready(0, Round(1, 1));
  EXPECT_TRUE(world.TakeSaid().empty()) << "one of two ranks is not the worker";
  world.Ready(1, Round(1, 1));
  auto said = world.TakeSaid();
  ASSERT_EQ(said.size(), 1u);
  ASSERT_EQ(said[0].ready().ranks_size(), 2);
  EXPECT_EQ(said[0].ready().ranks(1).local_rank(), 1);
  world.Go(1, 1);
  world.Joined(1, Round(1, 1));
  EXPECT_EQ(world.machine().phase(), Phase::kJoining);
  world.Joined(0, Round(1, 1));
  EXPECT_EQ(world.machine().phase(), Phase::kRunning);
  said = world.TakeSaid();
  ASSERT_EQ(said.size(), 1u);
  EXPECT_EQ(said[0].joined().error(), "");
}

TEST(WorkerMachineTest, LowerOrdersAreRefusedAndTheHigherIsNamed) {
  World world;
  world.Welcome(2);
  world.Run(2, 5);
  world.TakeSaid();
  world.TakeTold(0);
  world.Prepare(2, 4);
  world.Prepare(1, 9);
  world.Go(1, 9);
  world.Stop(2, 4, false);
  const auto said = world.TakeSaid();
  ASSERT_EQ(said.size(), 4u);
  for (const auto& message : said) {
    ASSERT_TRUE(message.has_refused());
    EXPECT_EQ(message.refused().seen().round(), 5);
    EXPECT_EQ(message.refused().reason(), "a later round was ordered");
  }
  EXPECT_TRUE(world.TakeTold(0).empty());
  EXPECT_EQ(world.machine().phase(), Phase::kRunning);
}

TEST(WorkerMachineTest, AnOperatorOfAnOlderTermIsRefused) {
  World world;
  world.Welcome(4);
  world.Do(StreamClosed{});
  world.Welcome(3);
  EXPECT_FALSE(world.machine().attached());
  EXPECT_EQ(world.redials().size(), 1u);
}

TEST(WorkerMachineTest, AWelcomeInAProtocolThatTheAgentDoesNotSpeakIsRefused) {
  World world;
  world.Do(StreamOpened{});
  EXPECT_EQ(world.TakeSaid()[0].hello().protocols().newest(), v1alpha1::kNewestProtocol);
  v1alpha1::OperatorMessage message;
  message.mutable_welcome()->set_protocol(v1alpha1::kNewestProtocol + 1);
  world.Say(message);
  EXPECT_FALSE(world.machine().attached());
  ASSERT_EQ(world.redials().size(), 1u);
  message.mutable_welcome()->set_protocol(v1alpha1::kNewestProtocol);
  world.Say(message);
  EXPECT_TRUE(world.machine().attached());
}

TEST(WorkerMachineTest, PrepareForOthersOrOfAnotherSizeIsRefused) {
  World world;
  world.Welcome(1);
  v1alpha1::OperatorMessage message;
  *message.mutable_prepare()->mutable_round() = Round(1, 1);
  message.mutable_prepare()->set_world_size(4);
  auto* member = message.mutable_prepare()->mutable_member();
  member->mutable_worker()->set_index(1);
  member->mutable_worker()->set_incarnation(1);  // this worker's predecessor
  member->set_ranks(2);
  world.TakeSaid();
  world.Say(message);
  EXPECT_EQ(world.TakeSaid()[0].refused().reason(), "the order is for another worker");
  member->mutable_worker()->set_incarnation(2);
  member->set_ranks(3);
  world.Say(message);
  EXPECT_EQ(world.TakeSaid()[0].refused().reason(), "this worker has 2 ranks, not 3");
  member->set_ranks(2);
  member->set_first_rank(3);
  world.Say(message);
  EXPECT_EQ(world.TakeSaid()[0].refused().reason(), "rank 4 is beyond the world size of 4");
  for (const v1alpha1::ToTrainer& told : world.TakeTold(0)) EXPECT_FALSE(told.has_prepare());
}

TEST(WorkerMachineTest, ARoundThatBeginsAfreshReplacesEveryRank) {
  World world;
  world.Welcome(1);
  world.Run(1, 1);
  world.TakeSaid();
  world.Prepare(1, 2, /*fresh=*/true);
  for (int rank : {0, 1}) EXPECT_EQ(world.TakeSignals(rank), std::vector<int>{SIGKILL}) << rank;
  for (int rank : {0, 1}) world.End(rank, 128 + SIGKILL, SIGKILL);
  for (int rank : {0, 1}) {
    EXPECT_TRUE(world.alive(rank)) << rank;
    EXPECT_EQ(world.generation(rank), 2) << rank;
  }
  EXPECT_TRUE(world.TakeSaid().empty()) << "nobody failed";
  world.Prepare(1, 2, /*fresh=*/true);
  EXPECT_EQ(world.generation(0), 2) << "the order repeated changes nothing";
}

TEST(WorkerMachineTest, GoAfterALossIsAnsweredWithAnError) {
  World world;
  world.Welcome(1);
  world.Prepare(1, 1);
  world.Ready(0, Round(1, 1));
  world.Ready(1, Round(1, 1));
  world.End(1, 1);
  world.TakeSaid();
  world.TakeTold(0);
  world.Go(1, 1);
  const auto said = world.TakeSaid();
  ASSERT_EQ(said.size(), 1u);
  EXPECT_EQ(said[0].joined().error(), "a rank of this worker ended after it was ready");
  EXPECT_TRUE(world.TakeTold(0).empty());
}

TEST(WorkerMachineTest, AJoinErrorIsPassedOnAtOnce) {
  World world;
  world.Welcome(1);
  world.Prepare(1, 1);
  world.Ready(0, Round(1, 1));
  world.Ready(1, Round(1, 1));
  world.Go(1, 1);
  world.TakeSaid();
  world.Joined(1, Round(1, 1), "digest differs");
  EXPECT_EQ(world.TakeSaid()[0].joined().error(), "rank 3: digest differs");
  EXPECT_EQ(world.machine().phase(), Phase::kWaiting);
}

// Welcome is as old as the stream; the spec to train by comes with the round.
TEST(WorkerMachineTest, OldAndNewProcessesGetTheSpecOfTheRoundNotOfWelcome) {
  World world;
  world.Welcome(1);
  world.Run(1, 1);
  v1alpha1::TrainingJobSpec edited;
  edited.mutable_trainer()->mutable_optimizer()->set_learning_rate(0.5);
  world.Edit(edited, "second");
  for (int rank : {0, 1}) world.TakeTold(rank);
  world.End(1, 1);
  world.Prepare(1, 2);
  ASSERT_TRUE(world.alive(1)) << "a new process";
  const auto survivor = world.TakeTold(0), fresh = world.TakeTold(1);
  ASSERT_EQ(survivor.size(), 1u);
  EXPECT_EQ(survivor[0].prepare().spec().trainer().optimizer().learning_rate(), 0.5);
  EXPECT_EQ(survivor[0].prepare().trajectory(), "second");
  EXPECT_EQ(survivor[0].prepare().secret(), "secret of 2");
  const v1alpha1::ToTrainer& last = fresh.back();
  EXPECT_EQ(last.prepare().spec().trainer().optimizer().learning_rate(), 0.5);
  EXPECT_EQ(last.prepare().trajectory(), "second");
  EXPECT_EQ(last.prepare().secret(), "secret of 2");
}

TEST(WorkerMachineTest, ARankThatTrainsByAnotherSpecThanTheRoundDoesNotJoin) {
  World world;
  world.Welcome(1);
  world.Prepare(1, 1);
  for (int rank : {0, 1}) world.Ready(rank, Round(1, 1));
  world.Go(1, 1);
  world.TakeSaid();
  world.Joined(0, Round(1, 1));
  world.Joined(1, Round(1, 1), "", "zeroth");
  EXPECT_EQ(world.TakeSaid()[0].joined().error(),
            "rank 3: it trains by spec \"zeroth\", but the round by \"first\"");
  EXPECT_EQ(world.machine().phase(), Phase::kWaiting);
}

TEST(WorkerMachineTest, AnswersForOldRoundsAreDropped) {
  World world;
  world.Welcome(1);
  world.Run(1, 1);
  world.Prepare(1, 2);
  world.TakeSaid();
  world.Ready(0, Round(1, 1));
  world.Ready(1, Round(1, 1));
  v1alpha1::FromTrainer steps;
  *steps.mutable_steps()->mutable_round() = Round(1, 1);
  world.FromRank(0, steps);
  world.Do(RankMessageReceived{0, 99, steps});
  EXPECT_TRUE(world.TakeSaid().empty());
}

TEST(WorkerMachineTest, ReAttachesWithItsActiveRoundAndItsBufferedReports) {
  World world;
  world.Welcome(1);
  world.Run(1, 1);
  world.Do(StreamClosed{});
  world.TakeSaid();
  for (int step = 1; step <= 3; ++step) {
    v1alpha1::FromTrainer steps;
    *steps.mutable_steps()->mutable_round() = Round(1, 1);
    steps.mutable_steps()->add_steps()->mutable_version()->set_step(step);
    world.FromRank(0, steps);
  }
  world.Welcome(2);
  const auto said = world.TakeSaid();
  ASSERT_EQ(said.size(), 3u);
  EXPECT_EQ(said[0].hello().active().round(), 1);
  EXPECT_EQ(said[0].hello().first_rank(), 2) << "worker 1 of those with two ranks each";
  EXPECT_EQ(said[0].hello().seen().term(), 1);
  EXPECT_EQ(said[1].steps().steps_size(), 3);
  EXPECT_TRUE(said[2].has_joined());
}

TEST(WorkerMachineTest, ReAttachesWithoutAnActiveRoundOnceARankIsLost) {
  World world;
  world.Welcome(1);
  world.Run(1, 1);
  world.Do(StreamClosed{});
  world.End(0, 1);
  world.TakeSaid();
  world.Welcome(2);
  const auto said = world.TakeSaid();
  ASSERT_EQ(said.size(), 2u);
  EXPECT_FALSE(said[0].hello().has_active());
  EXPECT_TRUE(said[1].has_rank_exited());
}

TEST(WorkerMachineTest, ANewOperatorIsToldThatTheWorkerIsReady) {
  World world;
  world.Welcome(1);
  world.Prepare(1, 1);
  world.Ready(0, Round(1, 1));
  world.Do(StreamClosed{});
  world.Ready(1, Round(1, 1));
  world.TakeSaid();
  world.Welcome(1);
  EXPECT_TRUE(world.TakeSaid()[1].has_ready());
}

TEST(WorkerMachineTest, ACommandRunsOncePerRankFromGo) {
  World world;
  world.Welcome(1, "RestartRank", /*trainer=*/false);
  world.TakeSaid();
  world.Prepare(1, 1);
  EXPECT_FALSE(world.alive(0));
  auto said = world.TakeSaid();
  ASSERT_EQ(said.size(), 1u);
  EXPECT_EQ(said[0].ready().ranks(0).endpoint(), "node-b:0") << "rank 0 is another worker's";
  world.Go(1, 1);
  EXPECT_TRUE(world.alive(0) && world.alive(1));
  EXPECT_EQ(world.placement(1).master_endpoint, "node-a:4000");
  EXPECT_TRUE(world.TakeSaid()[0].has_joined());
  world.Pass(absl::Seconds(30));
  EXPECT_TRUE(world.TakeSignals(0).empty()) << "a command sends no heartbeats";
  world.End(0, 0);
  world.TakeSaid();
  world.End(1, 0);
  EXPECT_TRUE(world.TakeSaid()[0].finished().succeeded());
  world.Stop(1, 1, false);
  EXPECT_EQ(world.exit_code(), 0);
}

TEST(WorkerMachineTest, ACommandsFailureWaitsForTheNextRoundWhichReplacesAll) {
  WorkerConfig config = TwoRanks();
  config.worker.set_index(0);
  config.worker.set_incarnation(0);
  World world(config);
  world.Welcome(1, "RestartRank", /*trainer=*/false);
  world.Prepare(1, 1);
  EXPECT_EQ(world.port_requests(), 1);
  world.Do(PortReserved{Round(1, 1), 777});
  EXPECT_EQ(world.TakeSaid().back().ready().ranks(0).endpoint(), "node-b:777");
  world.Go(1, 1);
  world.TakeSaid();
  world.End(0, 3);
  auto said = world.TakeSaid();
  EXPECT_EQ(said[0].rank_exited().exit_code(), 3);
  EXPECT_FALSE(said[0].rank_exited().restarted());
  world.Prepare(1, 2);
  EXPECT_EQ(world.TakeSignals(1), std::vector<int>{SIGTERM});
  world.Do(PortReserved{Round(1, 1), 777});  // late: it belongs to the old round
  world.End(1, 143, SIGTERM);
  EXPECT_EQ(world.port_requests(), 2);
  world.Do(PortReserved{Round(1, 2), 778});
  world.Go(1, 2);
  EXPECT_EQ(world.generation(0), 2);
  EXPECT_EQ(world.generation(1), 2);
}

v1alpha1::OperatorMessage Tune(int64_t term, int64_t round, double rate) {
  v1alpha1::OperatorMessage message;
  *message.mutable_tune()->mutable_round() = Round(term, round);
  v1alpha1::Tuning& tuning = *message.mutable_tune()->add_tunings();
  tuning.set_step(41);
  tuning.set_learning_rate(rate);
  return message;
}

TEST(WorkerMachineTest, TuningsOfTheRoundReachEveryRankAndThoseOfAnotherNone) {
  World world;
  world.Welcome(1);
  world.Run(1, 2);
  for (const int rank : {0, 1}) world.TakeTold(rank);
  world.Say(Tune(1, 2, 1e-4));
  for (const int rank : {0, 1}) {
    const auto told = world.TakeTold(rank);
    ASSERT_EQ(told.size(), 1u) << rank;
    ASSERT_EQ(told[0].tune().tunings_size(), 1);
    EXPECT_EQ(told[0].tune().tunings(0).step(), 41);
    EXPECT_EQ(told[0].tune().tunings(0).learning_rate(), 1e-4);
  }
  world.TakeSaid();
  for (const int64_t other : {1, 3}) {
    world.Say(Tune(1, other, 2e-4));
    for (const int rank : {0, 1}) EXPECT_TRUE(world.TakeTold(rank).empty()) << other;
    ASSERT_TRUE(world.TakeSaid().back().has_refused()) << other;
  }
}

TEST(WorkerMachineTest, ARankThatStartsAfterTheOrderHasTheTuningsOfItsRound) {
  World world;
  world.Welcome(1);
  world.Run(1, 1);
  world.Prepare(1, 2, /*fresh=*/true);
  world.Say(Tune(1, 2, 1e-4));
  for (const int rank : {0, 1}) world.TakeTold(rank);
  world.EndKilled();
  for (const int rank : {0, 1}) {
    const auto told = world.TakeTold(rank);
    ASSERT_FALSE(told.empty()) << rank;
    ASSERT_EQ(told[0].configure().spec().trainer().tunings_size(), 1) << rank;
    EXPECT_EQ(told[0].configure().spec().trainer().tunings(0).from_step(), 41);
    EXPECT_EQ(told[0].configure().spec().trainer().tunings(0).learning_rate(), 1e-4);
  }
}

}  // namespace
}  // namespace muster::agent
