// Simulates a machine that freezes and wakes up: the agent's thread is held, its rank is stopped,
// and the clock advances.
#include <signal.h>
#include <stdlib.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "agent/worker/scripted_coordinator.h"
#include "agent/worker/worker_agent.h"
#include "base/exit_codes.h"
#include "base/files/files.h"
#include "base/mutex.h"
#include "base/process/process.h"
#include "base/testing/manual_clock.h"
#include "gtest/gtest.h"

namespace muster::agent {
namespace {

// A command writes $$ for one $, as in a pod.
constexpr char kCommand[] = R"({"spec": {"containers": [{"name": "worker",
    "command": ["sh", "-c", "trap 'echo termed' TERM; echo up $$$$; while :; do sleep 0.05; done"]}]}})";

class FrozenAgentTest : public testing::Test {
 protected:
  FrozenAgentTest() {
    char folder[] = "/tmp/muster-frozen-test-XXXXXX";
    folder_ = mkdtemp(folder);
    coordinator_ = std::make_unique<ScriptedCoordinator>(Address());
    thread_ = std::thread([this] { Run(); });
  }
  ~FrozenAgentTest() override {
    clock_.Advance(absl::Hours(1));  // ends any process still running
    if (thread_.joinable()) thread_.join();
    std::system(absl::StrCat("rm -rf ", folder_).c_str());
  }

  std::string Address() const { return absl::StrCat("unix:", folder_, "/s"); }

  void Run() {
    WorkerAgentOptions options;
    options.config.worker.set_job("gpt");
    options.config.host = "127.0.0.1";
    options.coordinator.addresses = {Address()};
    options.environment = {{"PATH", "/usr/bin:/bin"}};
    options.show = [this](std::string_view line) {
      MutexLock lock(mu_);
      shown_ += line;
      changed_.NotifyAll();
    };
    WorkerAgent agent(std::move(options), clock_, ProcessLauncher::Real(), FileSystem());
    std::optional<int> code;
    while (!code.has_value()) {
      WaitWhileHeld();
      code = agent.RunOnce(absl::Milliseconds(10));
    }
    code_ = *code;
  }
  void WaitWhileHeld() {
    MutexLock lock(mu_);
    held_ = hold_;
    changed_.NotifyAll();
    while (hold_) changed_.Wait(mu_);
    held_ = false;
  }

  std::string Shown() {
    MutexLock lock(mu_);
    return shown_;
  }
  // Waits for the first line of the command, which ends with its pid.
  pid_t WaitForCommand() {
    MutexLock lock(mu_);
    while (!absl::StrContains(shown_, "up ") || shown_.back() != '\n') changed_.Wait(mu_);
    const size_t at = shown_.find("up ") + 3;
    int pid = 0;
    EXPECT_TRUE(absl::SimpleAtoi(shown_.substr(at, shown_.find('\n', at) - at), &pid)) << shown_;
    return pid;
  }
  void StartCommand() {
    v1alpha1::TrainingJobSpec spec;
    spec.mutable_elastic()->set_orphan_deadline("60s");
    spec.mutable_template_()->set_raw(kCommand);
    ASSERT_TRUE(coordinator_->Greet(1, spec).has_value());
    v1alpha1::OperatorMessage prepare;
    prepare.mutable_prepare()->mutable_round()->set_term(1);
    prepare.mutable_prepare()->mutable_round()->set_round(1);
    prepare.mutable_prepare()->set_world_size(1);
    prepare.mutable_prepare()->set_group_world_size(1);
    prepare.mutable_prepare()->mutable_member()->set_ranks(1);
    ASSERT_TRUE(coordinator_->Say(prepare));
    ASSERT_TRUE(coordinator_->WaitFor([](const auto& m) { return m.has_ready(); }).has_value());
    v1alpha1::OperatorMessage go;
    *go.mutable_go()->mutable_round() = prepare.prepare().round();
    go.mutable_go()->set_endpoint("127.0.0.1:4000");
    ASSERT_TRUE(coordinator_->Say(go));
  }
  // Freezes agent and rank, and thaws them together.
  void Freeze(pid_t rank, absl::Duration time) {
    MutexLock lock(mu_);
    hold_ = true;
    while (!held_) changed_.Wait(mu_);
    EXPECT_EQ(kill(rank, SIGSTOP), 0);
    clock_.Advance(time);
    EXPECT_EQ(kill(rank, SIGCONT), 0);
    hold_ = false;
    changed_.NotifyAll();
  }

  ManualClock clock_;
  std::string folder_;
  std::unique_ptr<ScriptedCoordinator> coordinator_;
  Mutex mu_;
  CondVar changed_;
  bool hold_ MUSTER_GUARDED_BY(mu_) = false;  // the agent's thread must wait
  bool held_ MUSTER_GUARDED_BY(mu_) = false;  // the agent's thread waits
  std::string shown_ MUSTER_GUARDED_BY(mu_);
  int code_ = -1;
  std::thread thread_;
};

TEST_F(FrozenAgentTest, ACommandIsKilledWhenItsMachineWakesUpAfterTheDeadline) {
  ASSERT_NO_FATAL_FAILURE(StartCommand());
  const pid_t rank = WaitForCommand();
  ASSERT_GT(rank, 0);
  Freeze(rank, absl::Minutes(2));
  thread_.join();
  EXPECT_EQ(code_, kExitOrphaned);
  EXPECT_NE(kill(rank, 0), 0) << "it still runs";
  EXPECT_FALSE(absl::StrContains(Shown(), "termed")) << "it was given time to write";
}

TEST_F(FrozenAgentTest, ACommandGoesOnAfterAShorterSleep) {
  ASSERT_NO_FATAL_FAILURE(StartCommand());
  const pid_t rank = WaitForCommand();
  ASSERT_GT(rank, 0);
  Freeze(rank, absl::Seconds(50));
  ASSERT_TRUE(coordinator_->WaitFor([](const auto& m) { return m.has_heartbeat(); }).has_value());
  EXPECT_EQ(kill(rank, 0), 0);
}

}  // namespace
}  // namespace muster::agent
