#ifndef MUSTER_AGENT_WORKER_WORKER_AGENT_FIXTURE_H_
#define MUSTER_AGENT_WORKER_WORKER_AGENT_FIXTURE_H_

#include <poll.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "agent/worker/scripted_coordinator.h"
#include "base/process/process.h"
#include "base/testing/patience.h"
#include "gtest/gtest.h"
#include "proto/muster/v1alpha1/round_id.h"

namespace muster::agent {

using v1alpha1::AgentMessage;
using v1alpha1::OperatorMessage;
using v1alpha1::RoundId;
using v1alpha1::TrainingJobSpec;

inline std::string ReadText(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

// Runs the agent program with real processes, against a coordinator that the test speaks for.
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
    if (poll(&fd, 1, kPatienceMillis) <= 0) return -1;
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

}  // namespace muster::agent

#endif  // MUSTER_AGENT_WORKER_WORKER_AGENT_FIXTURE_H_
