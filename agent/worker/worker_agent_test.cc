// The agent program with real processes, against a coordinator scripted by the test.
#include <poll.h>
#include <unistd.h>

#include <csignal>
#include <string>
#include <vector>

#include "agent/worker/worker_agent_fixture.h"
#include "base/exit_codes.h"
#include "base/process/process.h"
#include "base/testing/patience.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace muster::agent {
namespace {

// Waits until `pid` is gone, by its pidfd, which also works for a process that is not a child.
bool Gone(pid_t pid, uint64_t start_time) {
  auto process = ProcessLauncher::Real().Adopt(pid, start_time);
  if (!process.ok()) return true;
  pollfd fd = {(*process)->poll_fd(), POLLIN, 0};
  return poll(&fd, 1, kPatienceMillis) > 0;
}

TEST_F(WorkerAgentTest, TrainsToTheEndAndStopsWithZero) {
  StartAgent(2, {"SCRIPT_STEPS=5", "SCRIPT_SAY=here is"});
  const auto hello = coordinator_->Greet(1, spec_);
  ASSERT_TRUE(hello.has_value());
  EXPECT_EQ(hello->hello().ranks(), 2);
  EXPECT_EQ(hello->hello().worker().job(), "gpt");
  RunRound(1, 1, 2);
  const auto finished = Wait(AgentMessage::kFinished);
  ASSERT_TRUE(finished.has_value());
  EXPECT_TRUE(finished->finished().succeeded());
  EXPECT_EQ(finished->finished().version().step(), 5);
  Stop(1, 1);
  EXPECT_EQ(WaitForExit(), 0);
  EXPECT_EQ(Log(1), "here is rank 1 of 2\n");
  EXPECT_NE(ReadText(folder_ + "/exit.json").find("\"exitCode\":0"), std::string::npos);
}

TEST_F(WorkerAgentTest, AKilledRankIsReportedStartedAgainAndJoinsTheNextRound) {
  StartAgent(2);
  ASSERT_TRUE(coordinator_->Greet(1, spec_).has_value());
  RunRound(1, 1, 2);
  const pid_t survivor = RankPid(0);
  ASSERT_EQ(kill(RankPid(1), SIGKILL), 0);
  const auto exited = Wait(AgentMessage::kRankExited);
  ASSERT_TRUE(exited.has_value());
  EXPECT_EQ(exited->rank_exited().local_rank(), 1);
  EXPECT_EQ(exited->rank_exited().signal(), SIGKILL);
  EXPECT_TRUE(exited->rank_exited().restarted());
  RunRound(1, 2, 2);
  EXPECT_EQ(RankPid(0), survivor);
}

TEST_F(WorkerAgentTest, AnExitIsReportedWithItsCodeAndTheEndOfItsLog) {
  StartAgent(1, {"SCRIPT_EXIT=7@0"});
  ASSERT_TRUE(coordinator_->Greet(1, spec_).has_value());
  Prepare(1, 1, 1);
  ASSERT_TRUE(Wait(AgentMessage::kReady).has_value());
  Go(1, 1);
  const auto exited = Wait(AgentMessage::kRankExited);
  ASSERT_TRUE(exited.has_value());
  EXPECT_EQ(exited->rank_exited().exit_code(), 7);
  EXPECT_EQ(exited->rank_exited().reason(), "Exited");
  EXPECT_NE(exited->rank_exited().log_tail().find("about to exit with 7"), std::string::npos);
  RunRound(1, 2, 1);
}

TEST_F(WorkerAgentTest, AStoppedRankIsKilledAfterItsDeadline) {
  StartAgent(1);
  ASSERT_TRUE(coordinator_->Greet(1, spec_).has_value());
  RunRound(1, 1, 1);
  const absl::Time stopped = absl::Now();
  ASSERT_EQ(kill(RankPid(0), SIGSTOP), 0);
  const auto exited = Wait(AgentMessage::kRankExited);
  ASSERT_TRUE(exited.has_value());
  EXPECT_EQ(exited->rank_exited().reason(), "DeadlineExceeded");
  EXPECT_GE(absl::Now() - stopped, absl::Milliseconds(900)) << "not before the deadline of 1 s";
  RunRound(1, 2, 1);
}

TEST_F(WorkerAgentTest, RanksDieWithTheirAgent) {
  StartAgent(2);
  ASSERT_TRUE(coordinator_->Greet(1, spec_).has_value());
  RunRound(1, 1, 2);
  std::vector<std::pair<pid_t, uint64_t>> ranks;
  for (int rank : {0, 1}) {
    const pid_t pid = RankPid(rank);
    ASSERT_NE(pid, 0);
    ranks.emplace_back(pid, *ProcessStartTime(pid));
  }
  ASSERT_TRUE(agent_->Signal(SIGKILL).ok());
  for (const auto& [pid, start_time] : ranks) EXPECT_TRUE(Gone(pid, start_time));
}

TEST_F(WorkerAgentTest, ReAttachesToANewOperatorWithItsRoundStillRunning) {
  StartAgent(1);
  ASSERT_TRUE(coordinator_->Greet(1, spec_).has_value());
  RunRound(1, 1, 1);
  coordinator_.reset();
  coordinator_ = std::make_unique<ScriptedCoordinator>(address_);
  const auto hello = coordinator_->Greet(2, spec_);
  ASSERT_TRUE(hello.has_value());
  EXPECT_EQ(hello->hello().active().term(), 1);
  EXPECT_EQ(hello->hello().active().round(), 1);
  EXPECT_TRUE(Wait(AgentMessage::kSteps).has_value());
  Prepare(1, 0, 1);
  const auto refused = Wait(AgentMessage::kRefused);
  ASSERT_TRUE(refused.has_value());
  EXPECT_EQ(refused->refused().reason(), "a later round was ordered");
  RunRound(2, 2, 1);
}

// Regression: destroying a channel on gRPC's callback thread made it join itself and abort.
TEST_F(WorkerAgentTest, SurvivesManyLostStreams) {
  StartAgent(1);
  for (int term = 1; term <= 8; ++term) {
    ASSERT_TRUE(coordinator_->Greet(term, spec_).has_value()) << "term " << term;
    coordinator_.reset();
    coordinator_ = std::make_unique<ScriptedCoordinator>(address_);
  }
  ASSERT_TRUE(coordinator_->Greet(9, spec_).has_value());
  RunRound(9, 1, 1);
}

TEST_F(WorkerAgentTest, ATerminatedAgentSavesAndExitsWithTheSignal) {
  StartAgent(1);
  ASSERT_TRUE(coordinator_->Greet(1, spec_).has_value());
  RunRound(1, 1, 1);
  ASSERT_TRUE(agent_->Signal(SIGTERM).ok());
  EXPECT_TRUE(Wait(AgentMessage::kCheckpoint).has_value());
  EXPECT_EQ(WaitForExit(), 128 + SIGTERM);
  EXPECT_NE(ReadText(folder_ + "/exit.json").find("\"exitCode\":143"), std::string::npos);
}

TEST_F(WorkerAgentTest, WithoutAnOperatorItEndsByItself) {
  coordinator_.reset();
  StartAgent(1, {}, {"--orphan-deadline=300ms"});
  EXPECT_EQ(WaitForExit(), kExitOrphaned);
}

TEST_F(WorkerAgentTest, ACommandRunsOncePerRankWithTorchrunsEnvironment) {
  SetCommand("echo $RANK/$WORLD_SIZE $MASTER_ADDR:$MASTER_PORT $TORCHELASTIC_RUN_ID $(LOCAL_RANK)");
  StartAgent(2);
  ASSERT_TRUE(coordinator_->Greet(1, spec_).has_value());
  Prepare(1, 1, 2);
  const auto ready = Wait(AgentMessage::kReady);
  ASSERT_TRUE(ready.has_value());
  EXPECT_NE(ready->ready().ranks(0).endpoint(), "127.0.0.1:0");
  Go(1, 1, "node-a:77");
  const auto finished = Wait(AgentMessage::kFinished);
  ASSERT_TRUE(finished.has_value());
  EXPECT_TRUE(finished->finished().succeeded());
  Stop(1, 1);
  EXPECT_EQ(WaitForExit(), 0);
  EXPECT_EQ(Log(0), "0/2 node-a:77 u-1 0\n");
  EXPECT_EQ(Log(1), "1/2 node-a:77 u-1 1\n");
}

TEST_F(WorkerAgentTest, AFailedCommandIsReportedAndItsCodeIsTheAgents) {
  SetCommand("echo no >&2; exit 9");
  StartAgent(1);
  ASSERT_TRUE(coordinator_->Greet(1, spec_).has_value());
  for (int round : {1, 2}) {
    v1alpha1::RankExited exited;
    ASSERT_NO_FATAL_FAILURE(RunFailingCommand(round, exited));
    EXPECT_EQ(exited.exit_code(), 9);
    EXPECT_FALSE(exited.restarted());
    EXPECT_EQ(exited.log_tail(), "no\n");
  }
  Stop(1, 2);
  EXPECT_EQ(WaitForExit(), 9);
}

// torch.distributed.elastic's @record writes such a file when the script's main function throws.
TEST_F(WorkerAgentTest, TheExceptionInACommandsErrorFileIsItsLastWord) {
  SetCommand(
      "echo begins; echo '{\\\"message\\\":\\\"ValueError: no data\\\"}' > "
      "$TORCHELASTIC_ERROR_FILE; exit 3");
  StartAgent(1);
  ASSERT_TRUE(coordinator_->Greet(1, spec_).has_value());
  for (int round : {1, 2}) {
    v1alpha1::RankExited exited;
    ASSERT_NO_FATAL_FAILURE(RunFailingCommand(round, exited));
    EXPECT_EQ(exited.log_tail(), "begins\nValueError: no data\n");
  }
}

// Regression: it kept its command for an orphanDeadline, beside the worker that had replaced it.
TEST_F(WorkerAgentTest, ACommandWhoseWorkerWasReplacedIsKilledWhenTheAgentHearsOfIt) {
  SetCommand("trap '' TERM; while :; do sleep 0.1; done");
  StartAgent(1);
  ASSERT_TRUE(coordinator_->Greet(1, spec_).has_value());
  Prepare(1, 1, 1);
  ASSERT_TRUE(Wait(AgentMessage::kReady).has_value());
  Go(1, 1);
  ASSERT_TRUE(Wait(AgentMessage::kJoined).has_value());
  coordinator_->Refuse({grpc::StatusCode::FAILED_PRECONDITION, "was replaced by incarnation 2"});
  EXPECT_EQ(WaitForExit(), kExitOrphaned);
}

TEST_F(WorkerAgentTest, AMissingTrainerIsNamed) {
  StartAgent(1, {}, {"--trainer=/no/such/trainer"});
  ASSERT_TRUE(coordinator_->Greet(1, spec_).has_value());
  Prepare(1, 1, 1);
  const auto exited = Wait(AgentMessage::kRankExited);
  ASSERT_TRUE(exited.has_value());
  EXPECT_EQ(exited->rank_exited().exit_code(), 127);
  EXPECT_EQ(exited->rank_exited().log_tail(),
            "cannot execute /no/such/trainer: No such file or directory");
}

}  // namespace
}  // namespace muster::agent
