// The worker machine and a job's own command whose script uses the client: reports and notices.
#include <csignal>
#include <vector>

#include "absl/time/time.h"
#include "agent/core/worker_machine.h"
#include "agent/core/worker_machine_test_util.h"
#include "gtest/gtest.h"

namespace muster::agent {
namespace {

WorkerConfig FirstWorker() {
  WorkerConfig config = TwoRanks();
  config.worker.set_index(0);
  return config;
}

// A command of two ranks, 0 and 1 of the job, that runs in round 1 of term 1.
class CommandWorld : public World {
 public:
  CommandWorld() : World(FirstWorker()) {
    Welcome(1, "RestartRank", /*trainer=*/false);
    Begin(1);
  }
  void Begin(int64_t round) {
    Prepare(1, round);
    Do(PortReserved{Round(1, round), 777});
    Go(1, round);
    TakeSaid();
  }
  void Report(int rank, int64_t step, double loss = 2.5) {
    v1alpha1::FromTrainer message;
    auto* report = message.mutable_steps()->add_steps();
    report->mutable_version()->set_step(step);
    report->set_loss(loss);
    FromRank(rank, message);
  }
  void OrderSave() {
    v1alpha1::OperatorMessage message;
    *message.mutable_save()->mutable_round() = Round(1, 1);
    Say(message);
  }
};

TEST(WorkerMachineCommandTest, ReportsOfRankZeroGoOutInBatchesAsStepsOfTheRound) {
  CommandWorld world;
  world.Pass(absl::Seconds(4));
  world.Report(0, 1);
  world.Report(1, 1);
  world.Pass(absl::Milliseconds(100));
  auto said = world.TakeSaid();
  ASSERT_EQ(said.size(), 1u) << "rank 0 speaks for all";
  EXPECT_EQ(said[0].steps().round().round(), 1);
  EXPECT_EQ(said[0].steps().steps(0).version().attempt(), 1);
  EXPECT_DOUBLE_EQ(said[0].steps().steps(0).times().init(), 4);
  for (int step = 2; step <= 9; ++step) world.Report(0, step);
  EXPECT_TRUE(world.TakeSaid().empty());
  world.Pass(absl::Milliseconds(100));
  said = world.TakeSaid();
  ASSERT_EQ(said.size(), 1u);
  ASSERT_EQ(said[0].steps().steps_size(), 8);
  EXPECT_NEAR(said[0].steps().steps(0).times().compute(), 0.1, 1e-9);
  EXPECT_EQ(said[0].steps().steps(7).version().step(), 9);
}

TEST(WorkerMachineCommandTest, TheLastReportIsSentBeforeTheEnd) {
  CommandWorld world;
  world.Report(0, 10);
  world.End(0, 0);
  world.End(1, 0);
  const auto said = world.TakeSaid();
  ASSERT_EQ(said.size(), 2u);
  EXPECT_EQ(said[0].steps().steps(0).version().step(), 10);
  EXPECT_TRUE(said[1].finished().succeeded());
}

TEST(WorkerMachineCommandTest, AReportOfAProcessThatIsBeingReplacedDoesNotCount) {
  CommandWorld world;
  world.Prepare(1, 2);
  world.TakeSaid();
  world.Report(0, 10);
  world.Pass(absl::Seconds(1));
  EXPECT_TRUE(world.TakeSaid().empty());
}

TEST(WorkerMachineCommandTest, ACheckpointIsReportedAfterItsStep) {
  CommandWorld world;
  world.Report(0, 10);
  v1alpha1::FromTrainer message;
  message.mutable_checkpoint()->set_phase(v1alpha1::CheckpointReport::WRITTEN);
  message.mutable_checkpoint()->mutable_version()->set_step(10);
  world.FromRank(0, message);
  world.FromRank(1, message);
  const auto said = world.TakeSaid();
  ASSERT_EQ(said.size(), 2u);
  EXPECT_TRUE(said[0].has_steps());
  EXPECT_EQ(said[1].checkpoint().version().attempt(), 1);
}

// A script may report a checkpoint thousands of times a second, and the operator bounds what it
// hears from a worker.
TEST(WorkerMachineCommandTest, OfCheckpointsInQuickSuccessionTheNewestIsReported) {
  CommandWorld world;
  v1alpha1::FromTrainer message;
  message.mutable_checkpoint()->set_phase(v1alpha1::CheckpointReport::WRITTEN);
  for (int step = 1; step <= 5000; ++step) {
    world.Report(0, step);
    message.mutable_checkpoint()->mutable_version()->set_step(step);
    world.FromRank(0, message);
  }
  EXPECT_LE(world.TakeSaid().size(), 2u);
  world.Pass(absl::Seconds(1));
  int64_t saved = 0;
  for (const auto& said : world.TakeSaid()) {
    if (said.has_checkpoint()) saved = said.checkpoint().version().step();
  }
  EXPECT_EQ(saved, 5000);
}

TEST(WorkerMachineCommandTest, TheLastCheckpointIsReportedBeforeTheEnd) {
  CommandWorld world;
  v1alpha1::FromTrainer message;
  message.mutable_checkpoint()->set_phase(v1alpha1::CheckpointReport::WRITTEN);
  for (const int step : {10, 20}) {
    message.mutable_checkpoint()->mutable_version()->set_step(step);
    world.FromRank(0, message);
  }
  world.End(0, 0);
  world.End(1, 0);
  const auto said = world.TakeSaid();
  ASSERT_EQ(said.size(), 3u);
  EXPECT_EQ(said[1].checkpoint().version().step(), 20);
  EXPECT_TRUE(said[2].finished().succeeded());
}

TEST(WorkerMachineCommandTest, ARequestToSaveReachesACommandThatHearsNotices) {
  CommandWorld world;
  world.OrderSave();
  EXPECT_TRUE(world.TakeSaid()[0].has_refused()) << "nobody would save";
  world.Hello(1);
  world.OrderSave();
  EXPECT_TRUE(world.TakeSaid().empty());
  for (int rank : {0, 1}) {
    const auto told = world.TakeTold(rank);
    ASSERT_EQ(told.size(), 1u);
    EXPECT_TRUE(told[0].has_save());
  }
}

TEST(WorkerMachineCommandTest, ACommandThatHearsNoticesMaySaveBeforeItIsStopped) {
  CommandWorld world;
  world.Hello(0);
  world.Hello(1);
  world.Stop(1, 1, /*save=*/true);
  EXPECT_TRUE(world.TakeSignals(0).empty());
  const auto told = world.TakeTold(0);
  ASSERT_EQ(told.size(), 1u);
  EXPECT_DOUBLE_EQ(told[0].stop().seconds(), 60);
  world.Report(0, 11);
  world.End(0, 0);
  EXPECT_TRUE(world.TakeSignals(1).empty()) << "the other rank may still be saving";
  world.End(1, 0);
  EXPECT_TRUE(world.exited());
  EXPECT_TRUE(world.TakeSaid()[0].has_steps());
}

TEST(WorkerMachineCommandTest, WhoDoesNotLeaveInTimeIsEnded) {
  CommandWorld world;
  world.Hello(0);
  world.Do(Terminate{SIGTERM});
  EXPECT_DOUBLE_EQ(world.TakeTold(0)[0].stop().seconds(), 15);
  world.Pass(absl::Seconds(14));
  EXPECT_TRUE(world.TakeSignals(0).empty());
  world.Pass(absl::Seconds(2));
  EXPECT_EQ(world.TakeSignals(0), std::vector<int>{SIGTERM});
  world.Pass(absl::Seconds(6));
  EXPECT_EQ(world.TakeSignals(0), std::vector<int>{SIGKILL});
  world.End(0, 137, SIGKILL);
  world.End(1, 143, SIGTERM);
  EXPECT_EQ(world.exit_code(), 128 + SIGTERM);
}

TEST(WorkerMachineCommandTest, ASignalDuringAStopShortensTheTimeAndSaysSo) {
  CommandWorld world;
  world.Hello(0);
  world.Stop(1, 1, /*save=*/true);
  world.TakeTold(0);
  world.Do(Terminate{SIGTERM});
  const auto told = world.TakeTold(0);
  ASSERT_EQ(told.size(), 1u);
  EXPECT_DOUBLE_EQ(told[0].stop().seconds(), 15);
}

TEST(WorkerMachineCommandTest, NobodyWaitsForACommandThatHearsNothingOrMayBeReplaced) {
  CommandWorld deaf;
  deaf.Stop(1, 1, /*save=*/true);
  EXPECT_EQ(deaf.TakeSignals(0), std::vector<int>{SIGTERM});
  CommandWorld orphaned;
  orphaned.Hello(0);
  orphaned.Do(StreamClosed{});
  orphaned.Pass(absl::Seconds(61));
  EXPECT_EQ(orphaned.TakeSignals(0), std::vector<int>{SIGTERM}) << "another may do its work now";
}

}  // namespace
}  // namespace muster::agent
