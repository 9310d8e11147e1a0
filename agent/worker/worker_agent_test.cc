// The agent program with real processes, against a coordinator scripted by the test.
#include <poll.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "agent/worker/scripted_coordinator.h"
#include "base/exit_codes.h"
#include "base/process.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "proto/muster/v1alpha1/round_id.h"

namespace muster::agent {
namespace {

using v1alpha1::AgentMessage;
using v1alpha1::OperatorMessage;
using v1alpha1::RoundId;
using v1alpha1::TrainingJobSpec;

std::string ReadText(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

// Waits until `pid` is gone, by its pidfd, which also works for a process that is not a child.
bool Gone(pid_t pid, uint64_t start_time) {
  auto process = ProcessLauncher::Real().Adopt(pid, start_time);
  if (!process.ok()) return true;
  pollfd fd = {(*process)->poll_fd(), POLLIN, 0};
  return poll(&fd, 1, 20'000) > 0;
}

class WorkerAgentTest : public testing::Test {
 protected:
  void SetUp() override {
    signal(SIGPIPE, SIG_IGN);
    char folder[] = "/tmp/muster-agent-test-XXXXXX";
    ASSERT_NE(mkdtemp(folder), nullptr);
    folder_ = folder;
    address_ = absl::StrCat("unix:", folder_, "/s");
    spec_.mutable_trainer();
    spec_.mutable_elastic()->set_rank_deadline("1s");
    spec_.mutable_failure_policy()->set_on_rank_failure("RestartRank");
    coordinator_ = std::make_unique<ScriptedCoordinator>(address_);
    ASSERT_TRUE(coordinator_->ok());
  }

  void TearDown() override {
    if (HasFailure() && agent_ != nullptr) {
      const auto exit = agent_->Poll();
      ADD_FAILURE() << "the agent: "
                    << (exit.ok() && exit->has_value() ? DescribeExit(**exit) : "still runs");
    }
    if (agent_ != nullptr) agent_->Signal(SIGKILL).IgnoreError();
    EXPECT_TRUE(ProcessLauncher::Real().EndMarked(Mark(), absl::Seconds(60)).ok());
    if (!HasFailure()) std::system(absl::StrCat("rm -rf ", folder_).c_str());
  }

  std::string Mark() const { return "MUSTER_TEST_FOLDER=" + folder_; }
  std::string Log(int rank) const {
    return ReadText(absl::StrCat(folder_, "/logs/rank-", rank, ".log"));
  }

  void StartAgent(int ranks, std::vector<std::string> env = {},
                  std::vector<std::string> flags = {}) {
    ProcessSpec spec;
    spec.argv = {"agent/muster-agent",
                 "worker",
                 "--coordinator=" + address_,
                 "--trainer=agent/worker/scripted_trainer",
                 "--job=gpt",
                 "--job-uid=u-1",
                 "--index=0",
                 "--incarnation=1",
                 absl::StrCat("--ranks=", ranks),
                 absl::StrCat("--log-dir=", folder_, "/logs"),
                 absl::StrCat("--exit-file=", folder_, "/exit.json")};
    spec.argv.insert(spec.argv.end(), flags.begin(), flags.end());
    spec.env = {"PATH=/usr/bin:/bin", Mark(), "MUSTER_LOG_LEVEL=WARN"};
    spec.env.insert(spec.env.end(), env.begin(), env.end());
    spec.mark = Mark();
    spec.group = ProcessSpec::Group::kSession;
    auto agent = ProcessLauncher::Real().Launch(spec);
    ASSERT_TRUE(agent.ok()) << agent.status();
    agent_ = *std::move(agent);
  }

  // Sets a job without a trainer, whose worker container runs this shell script.
  void SetCommand(const std::string& script) {
    spec_.clear_trainer();
    spec_.mutable_template_()->set_raw(
        absl::StrCat(R"({"spec":{"containers":[{"name":"worker","command":["sh","-c"],"args":[")",
                     script, R"("]}]}})"));
  }

  int WaitForExit() {
    pollfd fd = {agent_->poll_fd(), POLLIN, 0};
    if (poll(&fd, 1, 30'000) <= 0) return -1;
    const auto exit = agent_->Poll();
    return exit.ok() && exit->has_value() ? (*exit)->code : -2;
  }

  RoundId Round(int64_t term, int64_t round) { return v1alpha1::MakeRoundId(term, round); }
  void Prepare(int64_t term, int64_t round, int ranks) {
    OperatorMessage message;
    *message.mutable_prepare()->mutable_round() = Round(term, round);
    message.mutable_prepare()->set_world_size(ranks);
    message.mutable_prepare()->set_group_world_size(1);
    auto* member = message.mutable_prepare()->mutable_member();
    member->mutable_worker()->set_incarnation(1);
    member->set_ranks(ranks);
    ASSERT_TRUE(coordinator_->Say(message));
  }
  void Go(int64_t term, int64_t round, const std::string& endpoint = "127.0.0.1:4000") {
    OperatorMessage message;
    *message.mutable_go()->mutable_round() = Round(term, round);
    message.mutable_go()->set_endpoint(endpoint);
    ASSERT_TRUE(coordinator_->Say(message));
  }
  void Stop(int64_t term, int64_t round) {
    OperatorMessage message;
    *message.mutable_stop()->mutable_round() = Round(term, round);
    ASSERT_TRUE(coordinator_->Say(message));
  }
  std::optional<AgentMessage> Wait(AgentMessage::KindCase kind) {
    return coordinator_->WaitFor([kind](const auto& m) { return m.kind_case() == kind; });
  }
  // Takes the ranks from nothing, or from the previous round, to stepping.
  void RunRound(int64_t term, int64_t round, int ranks) {
    Prepare(term, round, ranks);
    const auto ready = Wait(AgentMessage::kReady);
    ASSERT_TRUE(ready.has_value());
    ASSERT_EQ(ready->ready().ranks_size(), ranks);
    Go(term, round);
    ASSERT_TRUE(Wait(AgentMessage::kJoined).has_value());
    ASSERT_TRUE(Wait(AgentMessage::kSteps).has_value());
  }
  // Has the only rank's command run in a round of term 1, in which it fails, and stores the report.
  void RunFailingCommand(int64_t round, v1alpha1::RankExited& report) {
    Prepare(1, round, 1);
    ASSERT_TRUE(Wait(AgentMessage::kReady).has_value());
    Go(1, round);
    const auto exited = Wait(AgentMessage::kRankExited);
    ASSERT_TRUE(exited.has_value());
    report = exited->rank_exited();
  }
  // Returns the pid of a rank's newest process, found by the trainer's environment.
  pid_t RankPid(int rank) {
    for (pid_t pid : Descendants()) {
      const std::string env = '\0' + ReadText(absl::StrCat("/proc/", pid, "/environ"));
      if (env.find('\0' + absl::StrCat("LOCAL_RANK=", rank) + '\0') != std::string::npos)
        return pid;
    }
    return 0;
  }
  // Returns a variable of a rank's newest process; "(unset)" if it has none of this name.
  std::string Variable(int rank, const std::string& name) {
    const std::string env = '\0' + ReadText(absl::StrCat("/proc/", RankPid(rank), "/environ"));
    const size_t at = env.find('\0' + name + '=');
    return at == env.npos ? "(unset)" : env.c_str() + at + name.size() + 2;
  }
  std::vector<pid_t> Descendants() {
    std::istringstream pids(
        ReadText(absl::StrCat("/proc/", agent_->pid(), "/task/", agent_->pid(), "/children")));
    std::vector<pid_t> result;
    for (pid_t pid; pids >> pid;) result.push_back(pid);
    return result;
  }

  std::string folder_;
  std::string address_;
  TrainingJobSpec spec_;
  std::unique_ptr<ScriptedCoordinator> coordinator_;
  std::unique_ptr<Process> agent_;
};

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

// NVLink bridges the first GPU with the third, and the second with the fourth.
constexpr char kBridged[] =
    "driver 580.65.06\n"
    "gpu uuid=GPU-a name=A pci=00000000:1B:00.0 peers=2 board=0\n"
    "gpu uuid=GPU-b name=A pci=00000000:1C:00.0 peers=3 board=1\n"
    "gpu uuid=GPU-c name=A pci=00000000:1D:00.0 peers=0 board=2\n"
    "gpu uuid=GPU-d name=A pci=00000000:1E:00.0 peers=1 board=3\n";

TEST_F(WorkerAgentTest, EachRankSeesOneGpuAndTheNextRankItsNeighbour) {
  std::ofstream(folder_ + "/nvml.txt") << kBridged;
  spec_.mutable_workers()->set_gpus(4);
  StartAgent(4, {absl::StrCat("FAKE_NVML=", folder_, "/nvml.txt"), "NVIDIA_VISIBLE_DEVICES=all"},
             {"--gpus=4", "--nvml=agent/hardware/libfake_nvml.so"});
  ASSERT_TRUE(coordinator_->Greet(1, spec_).has_value());
  RunRound(1, 1, 4);
  EXPECT_EQ(Variable(0, "CUDA_VISIBLE_DEVICES"), "GPU-a");
  EXPECT_EQ(Variable(1, "CUDA_VISIBLE_DEVICES"), "GPU-c");
  EXPECT_EQ(Variable(2, "CUDA_VISIBLE_DEVICES"), "GPU-b");
  EXPECT_EQ(Variable(3, "CUDA_VISIBLE_DEVICES"), "GPU-d");
}

TEST_F(WorkerAgentTest, AJobsOwnChoiceOfGpusStays) {
  std::ofstream(folder_ + "/nvml.txt") << kBridged;
  spec_.mutable_workers()->set_gpus(1);
  StartAgent(1, {absl::StrCat("FAKE_NVML=", folder_, "/nvml.txt"), "CUDA_VISIBLE_DEVICES=3"},
             {"--gpus=1", "--nvml=agent/hardware/libfake_nvml.so"});
  ASSERT_TRUE(coordinator_->Greet(1, spec_).has_value());
  RunRound(1, 1, 1);
  EXPECT_EQ(Variable(0, "CUDA_VISIBLE_DEVICES"), "3");
}

TEST_F(WorkerAgentTest, AWorkerWithFewerGpusThanRanksSaysWhichItSees) {
  std::ofstream(folder_ + "/nvml.txt") << kBridged;
  spec_.mutable_workers()->set_gpus(2);
  spec_.mutable_failure_policy()->set_on_rank_failure("Shrink");
  StartAgent(2, {absl::StrCat("FAKE_NVML=", folder_, "/nvml.txt"), "NVIDIA_VISIBLE_DEVICES=GPU-d"},
             {"--gpus=2", "--nvml=agent/hardware/libfake_nvml.so"});
  ASSERT_TRUE(coordinator_->Greet(1, spec_).has_value());
  Prepare(1, 1, 2);
  const auto exited = Wait(AgentMessage::kRankExited);
  ASSERT_TRUE(exited.has_value());
  EXPECT_THAT(exited->rank_exited().log_tail(),
              testing::HasSubstr(
                  "workers.gpus: is 2, and this worker sees 1 (GPU-d) with driver 580.65.06: "
                  "each rank computes on a GPU of its own"));
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
