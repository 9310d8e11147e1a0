// The worker machine and its ranks: how they end, are watched and are restarted.
#include "agent/core/worker_machine.h"

#include <csignal>
#include <optional>
#include <vector>

#include "absl/time/time.h"
#include "agent/core/worker_machine_test_util.h"
#include "base/exit_codes.h"
#include "gtest/gtest.h"

namespace muster::agent {
namespace {

using Phase = WorkerMachine::Phase;

TEST(WorkerMachineRanksTest, AFailedRankIsReportedAndStartedAgainAtOnce) {
  World world;
  world.Welcome(1);
  world.Run(1, 1);
  world.TakeSaid();
  world.TakeTold(1);
  world.End(1, 137, SIGKILL);
  const auto said = world.TakeSaid();
  ASSERT_EQ(said.size(), 1u);
  EXPECT_EQ(said[0].rank_exited().rank(), 3);
  EXPECT_EQ(said[0].rank_exited().signal(), SIGKILL);
  EXPECT_TRUE(said[0].rank_exited().restarted());
  EXPECT_EQ(said[0].rank_exited().reason(), "Signaled");
  EXPECT_EQ(said[0].rank_exited().log_tail(), "the last words");
  EXPECT_TRUE(world.alive(1));
  EXPECT_EQ(world.generation(1), 2);
  auto told = world.TakeTold(1);
  ASSERT_EQ(told.size(), 1u) << "it is configured and waits for the next round";
  EXPECT_TRUE(told[0].has_configure());
  world.Run(1, 2);
  EXPECT_EQ(world.machine().phase(), Phase::kRunning);
  EXPECT_EQ(world.generation(0), 1) << "the other rank lives on";
}

v1alpha1::TrainingJobSpec SpecWithCopies() {
  v1alpha1::TrainingJobSpec spec;
  spec.mutable_trainer();
  spec.mutable_checkpoint()->mutable_memory()->set_every_steps(5);
  return spec;
}

TEST(WorkerMachineRanksTest, EachRankOfAJobWithCopiesInMemoryHasAFolderForThem) {
  WorkerConfig config = TwoRanks();
  config.copies_directory = "/dev/shm/muster-copies-1";
  World world(config);
  world.Welcome(1);
  world.TakeTold(1);
  world.Edit(SpecWithCopies(), "first");
  world.Prepare(1, 1);
  world.EndKilled();
  EXPECT_TRUE(world.machine().keeps_copies());
  EXPECT_EQ(world.TakeTold(1)[0].configure().copies_directory(), "/dev/shm/muster-copies-1/rank-1");
  World without(config);
  without.Welcome(1);
  without.Prepare(1, 1);
  EXPECT_FALSE(without.machine().keeps_copies());
  EXPECT_EQ(without.TakeTold(1)[0].configure().copies_directory(), "");
}

TEST(WorkerMachineRanksTest, AWorkerHasReadWhatItsRanksHaveAndTookAsLongAsTheSlowest) {
  World world;
  world.Welcome(1);
  world.Prepare(1, 1);
  for (int rank : {0, 1}) world.Hello(rank);
  for (int rank : {0, 1}) world.Ready(rank, Round(1, 1));
  world.Go(1, 1);
  for (int rank : {0, 1}) {
    v1alpha1::FromTrainer message;
    v1alpha1::WorkerJoined& joined = *message.mutable_joined();
    *joined.mutable_round() = Round(1, 1);
    joined.set_trajectory("first");
    joined.set_restored_bytes(100 + rank);
    joined.set_restore_seconds(rank == 0 ? 2.5 : 0.5);
    world.FromRank(rank, message);
  }
  const v1alpha1::WorkerJoined joined = world.TakeSaid().back().joined();
  EXPECT_EQ(joined.restored_bytes(), 201);
  EXPECT_EQ(joined.restore_seconds(), 2.5);
}

TEST(WorkerMachineRanksTest, TheLinksThatItsRanksMeasuredAreTheWorkersOfThatRoundOnly) {
  World world;
  world.Welcome(1);
  const auto join = [&](int64_t round, bool tested) {
    world.Prepare(1, round);
    for (int rank : {0, 1}) world.Hello(rank);
    for (int rank : {0, 1}) world.Ready(rank, Round(1, round));
    world.Go(1, round, tested);
    for (int rank : {0, 1}) {
      v1alpha1::FromTrainer message;
      v1alpha1::WorkerJoined& joined = *message.mutable_joined();
      *joined.mutable_round() = Round(1, round);
      joined.set_trajectory("first");
      if (tested && rank == 0) joined.add_links()->set_bytes_per_second(5);
      world.FromRank(rank, message);
    }
    return world.TakeSaid().back().joined();
  };
  ASSERT_EQ(join(1, true).links_size(), 1);
  EXPECT_EQ(join(2, false).links_size(), 0);
}

TEST(WorkerMachineRanksTest, ASecondOrderToGoReachesRanksThatWaitAfterATestOfLinks) {
  for (const bool tested : {true, false}) {
    World world;
    world.Welcome(1);
    world.Prepare(1, 1);
    for (int rank : {0, 1}) world.Hello(rank);
    for (int rank : {0, 1}) world.Ready(rank, Round(1, 1));
    world.Go(1, 1, tested);
    world.Joined(0, Round(1, 1));
    world.Go(1, 1, tested);
    for (int rank : {0, 1}) world.TakeTold(rank);
    world.Joined(1, Round(1, 1));
    EXPECT_TRUE(world.TakeTold(0).empty());
    world.Go(1, 1, tested);
    for (int rank : {0, 1}) EXPECT_EQ(world.TakeTold(rank).size(), tested ? 1u : 0u);
    EXPECT_EQ(world.machine().phase(), WorkerMachine::Phase::kRunning);
  }
}

TEST(WorkerMachineRanksTest, WithShrinkARankIsRestartedOnlyForTheNextRound) {
  World world;
  world.Welcome(1, "Shrink");
  world.Run(1, 1);
  world.TakeSaid();
  world.End(0, 3);
  EXPECT_FALSE(world.TakeSaid()[0].rank_exited().restarted());
  world.Pass(absl::Seconds(5), {1});
  EXPECT_FALSE(world.alive(0));
  world.Prepare(1, 3);
  EXPECT_TRUE(world.alive(0));
}

TEST(WorkerMachineRanksTest, ARankThatTheKernelKilledForItsMemoryIsReportedAsSuch) {
  World world;
  world.Welcome(1);
  world.Run(1, 1);
  world.TakeSaid();
  world.End(1, 137, SIGKILL, /*out_of_memory=*/true);
  EXPECT_EQ(world.TakeSaid()[0].rank_exited().reason(), "OOMKilled");
}

// Regression: the operator received only the exit code, with the log's last line as the reason.
TEST(WorkerMachineRanksTest, AFailureIsReportedWithItsReasonAfterTheNextPrepareToo) {
  World world;
  world.Welcome(1);
  world.Run(1, 1);
  world.TakeSaid();
  world.Finished(1, /*succeeded=*/false);
  world.Do(RankLinkClosed{1, 1});
  world.Prepare(1, 2);
  EXPECT_TRUE(world.TakeSignals(1).empty()) << "it ends by itself";
  world.TakeSaid();
  world.End(1, kExitBadInput);
  const auto said = world.TakeSaid();
  ASSERT_EQ(said.size(), 1u);
  EXPECT_EQ(said[0].finished().exit_code(), kExitBadInput);
  EXPECT_EQ(said[0].finished().message(), "the data are no text");
  EXPECT_EQ(said[0].finished().round().round(), 2);
}

TEST(WorkerMachineRanksTest, AProgramThatCannotStartIsTriedEverMoreSlowly) {
  World world;
  world.Welcome(1);
  world.Prepare(1, 1);
  for (int i = 0; i < 5; ++i) {
    world.Hello(1);
    if (world.alive(0)) world.End(0, 127);
    world.Pass(absl::Milliseconds(300), {1});
  }
  const int early = world.generation(0);
  EXPECT_GE(early, 3);
  EXPECT_LE(early, 6);
  for (int i = 0; i < 1000; ++i) {
    if (world.alive(0)) world.End(0, 127);
    world.Pass(absl::Milliseconds(100), {1});
  }
  EXPECT_LE(world.generation(0), 20) << "100 seconds at 10 s between tries";
}

// Returns the delay until rank 0's next process, when each ends at once.
absl::Duration NextStart(World& world) {
  const int before = world.generation(0);
  world.End(0, 127);
  const absl::Time from = world.now();
  while (world.generation(0) == before && world.now() < from + absl::Minutes(10)) {
    world.Pass(absl::Milliseconds(100), {1});
  }
  return world.now() - from;
}

// Brings the agent of a job with this back-off as far as its first round.
void PrepareWithBackoff(World& world, const std::string& initial, const std::string& most) {
  world.Do(StreamOpened{});
  v1alpha1::OperatorMessage message;
  message.mutable_welcome()->set_term(1);
  v1alpha1::TrainingJobSpec& spec = *message.mutable_welcome()->mutable_spec();
  spec.mutable_trainer();
  spec.mutable_failure_policy()->set_initial_backoff(initial);
  spec.mutable_failure_policy()->set_max_backoff(most);
  world.Edit(spec, "first");
  world.Say(message);
  world.Prepare(1, 1);
  world.Hello(1);
}

TEST(WorkerMachineRanksTest, ARankThatEndsAtOnceWaitsAsTheFailurePolicySays) {
  World world;
  PrepareWithBackoff(world, "4s", "10s");
  EXPECT_LE(NextStart(world), absl::Milliseconds(100)) << "the first time at once";
  EXPECT_EQ(NextStart(world), absl::Seconds(4));
  EXPECT_EQ(NextStart(world), absl::Seconds(8));
  EXPECT_EQ(NextStart(world), absl::Seconds(10));
  EXPECT_EQ(NextStart(world), absl::Seconds(10));
}

TEST(WorkerMachineRanksTest, ARankThatEndsAtOnceWaitsASecondAtLeastWhateverTheJobAsks) {
  World world;
  PrepareWithBackoff(world, "1ms", "1ms");
  EXPECT_LE(NextStart(world), absl::Milliseconds(100)) << "the first time at once";
  EXPECT_EQ(NextStart(world), absl::Seconds(1));
  EXPECT_EQ(NextStart(world), absl::Seconds(1));
}

TEST(WorkerMachineRanksTest, ASilentRankIsKilledAfterItsDeadline) {
  World world;
  world.Welcome(1);
  world.Run(1, 1);
  world.TakeSaid();
  world.Pass(absl::Milliseconds(1900), {1});
  EXPECT_TRUE(world.TakeSignals(0).empty());
  world.Pass(absl::Milliseconds(200), {1});
  EXPECT_EQ(world.TakeSignals(0), std::vector<int>{SIGKILL});
  EXPECT_TRUE(world.TakeSignals(1).empty());
  world.End(0, 137, SIGKILL);
  EXPECT_EQ(world.TakeSaid()[0].rank_exited().reason(), "DeadlineExceeded");
}

TEST(WorkerMachineRanksTest, ARankThatStillLoadsHasLonger) {
  World world;
  world.Welcome(1);
  world.Prepare(1, 1);
  world.Pass(absl::Seconds(299));
  EXPECT_TRUE(world.TakeSignals(0).empty());
  world.Pass(absl::Seconds(2));
  EXPECT_EQ(world.TakeSignals(0), std::vector<int>{SIGKILL});
}

TEST(WorkerMachineRanksTest, ThawedAgentDoesNotKillRanksForItsOwnSilence) {
  World world;
  world.Welcome(1);
  world.Run(1, 1);
  world.now() += absl::Seconds(30);
  world.Do(Tick{});
  world.Pass(absl::Seconds(1), {0, 1});
  EXPECT_TRUE(world.TakeSignals(0).empty());
  EXPECT_TRUE(world.TakeSignals(1).empty());
}

// Regression: the rank answers heartbeats forever and never Prepare, and the agent's own limit of
// 60 s, or twice the step deadline, did not follow the operator's.
TEST(WorkerMachineRanksTest, ARankThatDoesNotGetReadyIsKilledWhenTheOperatorWaitsNoLonger) {
  const std::optional<absl::Duration> told[] = {absl::Seconds(5), absl::Minutes(3), std::nullopt};
  for (const std::optional<absl::Duration> deadline : told) {
    World world;
    world.prepare_deadline = deadline;
    world.Welcome(1);
    world.Run(1, 1);
    world.Pass(absl::Minutes(6), {0, 1});  // it has had its time to load
    world.Prepare(1, 2);
    world.Ready(0, Round(1, 2));
    world.Pass(deadline.value_or(absl::Seconds(60)), {0, 1});
    EXPECT_TRUE(world.TakeSignals(1).empty());
    world.Pass(absl::Milliseconds(100), {0, 1});
    EXPECT_EQ(world.TakeSignals(1), std::vector<int>{SIGKILL});
    EXPECT_TRUE(world.TakeSignals(0).empty());
  }
}

TEST(WorkerMachineRanksTest, ALostLinkEndsItsProcess) {
  World world;
  world.Welcome(1);
  world.Run(1, 1);
  world.TakeSaid();
  world.Do(RankLinkClosed{0, 1});
  world.Pass(absl::Milliseconds(1200), {1});
  EXPECT_EQ(world.TakeSignals(0), std::vector<int>{SIGKILL});
  world.End(0, 137, SIGKILL);
  EXPECT_EQ(world.TakeSaid()[0].rank_exited().reason(), "LinkLost");
}

// Regression: it was LinkLost, because the end of the link is seen before that of the process.
TEST(WorkerMachineRanksTest, AProcessKilledFromOutsideIsSignaledThoughItsLinkClosedFirst) {
  World world;
  world.Welcome(1);
  world.Run(1, 1);
  world.TakeSaid();
  world.Do(RankLinkClosed{0, 1});
  world.End(0, 137, SIGKILL);
  EXPECT_EQ(world.TakeSaid()[0].rank_exited().reason(), "Signaled");
}

TEST(WorkerMachineRanksTest, ARankLostBeforeTheAnswerIsReplacedInTheSameRound) {
  World world;
  world.Welcome(1);
  world.Prepare(1, 1);
  world.Ready(0, Round(1, 1));
  world.End(1, 1);
  ASSERT_TRUE(world.alive(1));
  world.TakeSaid();
  world.Ready(1, Round(1, 1));
  EXPECT_TRUE(world.TakeSaid()[0].has_ready());
}

TEST(WorkerMachineRanksTest, ARankThatCannotGoOnEndsTheWorkersWork) {
  World world;
  world.Welcome(1);
  world.Run(1, 1);
  world.TakeSaid();
  world.Finished(1, /*succeeded=*/false);
  EXPECT_TRUE(world.TakeSaid().empty()) << "its exit code says whether trying again can help";
  world.End(1, kExitBadInput);
  const auto said = world.TakeSaid();
  ASSERT_EQ(said.size(), 1u);
  EXPECT_FALSE(said[0].finished().succeeded());
  EXPECT_EQ(said[0].finished().exit_code(), kExitBadInput);
  EXPECT_EQ(said[0].finished().message(), "the data are no text");
  world.Prepare(1, 2);
  EXPECT_EQ(world.generation(1), 2) << "the operator may try again";
}

}  // namespace
}  // namespace muster::agent
