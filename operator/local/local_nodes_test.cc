// Tests LocalNodes with pods of the embedded API that run as real `sh -c` processes.
#include "operator/local/local_nodes.h"

#include <csignal>
#include <cstdlib>
#include <functional>
#include <memory>
#include <ostream>
#include <random>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "base/files/files.h"
#include "base/process/process.h"
#include "base/testing/patience.h"
#include "gtest/gtest.h"
#include "operator/kube/memory/memory_api.h"
#include "operator/kube/object_meta.h"

namespace muster::control {
namespace {

class LocalNodesTest : public testing::Test {
 protected:
  void SetUp() override {
    char folder[] = "/tmp/muster-local-test-XXXXXX";
    ASSERT_NE(mkdtemp(folder), nullptr);
    folder_ = folder;
    kube::MemoryApiOptions options;
    // Only makes uids: any seed will do, but it must differ between test processes.
    auto random = std::make_shared<std::mt19937_64>(std::random_device{}());
    options.random = [random] { return (*random)(); };
    auto api = kube::MemoryApi::Open(Clock::Real(), options);
    ASSERT_TRUE(api.ok()) << api.status();
    api_ = *std::move(api);
    NewNodes();
  }
  void TearDown() override {
    if (nodes_ != nullptr) nodes_->StopAll(absl::ZeroDuration());
    if (!HasFailure()) RemoveAll(FileSystem(), folder_).IgnoreError();
  }

  // Simulates a restart of this program: only the files are left.
  void NewNodes() {
    nodes_.reset();
    LocalNodesOptions options;
    options.nodes = {{.name = "local", .gpus = 2, .gpu_uuids = {"GPU-a", "GPU-b"}}};
    options.state_dir = folder_;
    nodes_ = std::make_unique<LocalNodes>(options, *api_, ProcessLauncher::Real(), Clock::Real());
    ASSERT_TRUE(nodes_->Register().ok());
  }

  void CreatePod(const std::string& name, const std::string& script, bool bind = true,
                 int gpus = 0) {
    Json pod = kube::NewObject(kube::kPods, {"default", name});
    pod["spec"] = {
        {"restartPolicy", "Never"},
        {"terminationGracePeriodSeconds", 30},
        {"containers",
         Json::array(
             {{{"name", "worker"}, {"image", "none"}, {"command", {"sh", "-c", script}}}})}};
    if (gpus > 0) {
      pod["spec"]["containers"][0]["resources"]["limits"]["nvidia.com/gpu"] = absl::StrCat(gpus);
    }
    const auto stored = api_->Create(kube::kPods, pod);
    ASSERT_TRUE(stored.ok()) << stored.status();
    if (!bind) return;
    const absl::Status bound =
        api_->Bind({.pod = {"default", name}, .node = "local", .preconditions = {}});
    ASSERT_TRUE(bound.ok()) << bound;
  }
  absl::StatusOr<Json> Get(const std::string& name) {
    return api_->Get(kube::kPods, {"default", name});
  }
  std::string Phase(const std::string& name) {
    const auto pod = Get(name);
    return pod.ok() ? kube::StringAt(*pod, {"status", "phase"}) : "(gone)";
  }
  Json Terminated(const std::string& name) {
    const auto pod = Get(name);
    return pod.ok() ? (*pod)["status"]["containerStatuses"][0]["state"]["terminated"] : Json();
  }
  bool RunUntil(const std::function<bool()>& done) {
    const absl::Time end = Clock::Real().Monotonic() + kPatience;
    while (!done()) {
      const absl::Status status = nodes_->RunOnce(absl::Milliseconds(50));
      EXPECT_TRUE(status.ok()) << status;
      if (Clock::Real().Monotonic() > end || !status.ok()) return false;
    }
    return true;
  }
  bool RunUntilPhase(const std::string& name, const std::string& phase) {
    return RunUntil([&] { return Phase(name) == phase; });
  }
  std::string Log(const std::string& name) {
    return ReadFile(FileSystem(), absl::StrCat(folder_, "/pods/", name, "/logs/agent.log"))
        .value_or("(none)");
  }

  std::string folder_;
  std::unique_ptr<kube::MemoryApi> api_;
  std::unique_ptr<LocalNodes> nodes_;
};

TEST_F(LocalNodesTest, RegistersItsNodesReadyWithTheirCapacity) {
  const auto node = api_->Get(kube::kNodes, {"", "local"});
  ASSERT_TRUE(node.ok());
  EXPECT_EQ(kube::StringAt(*node, {"status", "allocatable", "nvidia.com/gpu"}), "2");
  EXPECT_EQ((*node)["status"]["conditions"][0]["status"], "True");
}

TEST_F(LocalNodesTest, RunsABoundPodToItsEnd) {
  CreatePod("ok", "echo I am $MUSTER_POD_NAME");
  CreatePod("bad", "exit 7");
  CreatePod("unbound", "exit 0", /*bind=*/false);
  ASSERT_TRUE(RunUntilPhase("ok", "Succeeded"));
  ASSERT_TRUE(RunUntilPhase("bad", "Failed"));
  EXPECT_EQ(Terminated("ok")["reason"], "Completed");
  EXPECT_EQ(Terminated("bad")["exitCode"], 7);
  EXPECT_EQ(Terminated("bad")["reason"], "Error");
  EXPECT_EQ(Log("ok"), "I am ok\n");
  EXPECT_EQ(Phase("unbound"), "Pending");
  EXPECT_TRUE(nodes_->running().empty());
}

TEST_F(LocalNodesTest, EachPodIsToldGpusThatNoOtherHasAlsoAfterARestart) {
  const std::string told = "echo [$NVIDIA_VISIBLE_DEVICES]; sleep 100";
  CreatePod("first", told, /*bind=*/true, /*gpus=*/1);
  CreatePod("none", "echo [$NVIDIA_VISIBLE_DEVICES]");
  ASSERT_TRUE(RunUntil([&] { return Log("first") == "[GPU-a]\n" && Log("none") == "[]\n"; }));
  NewNodes();
  CreatePod("second", told, /*bind=*/true, /*gpus=*/1);
  ASSERT_TRUE(RunUntil([&] { return Log("second") == "[GPU-b]\n"; })) << Log("second");
  ASSERT_EQ(kill(nodes_->running().at("default/first"), SIGKILL), 0);
  ASSERT_TRUE(RunUntilPhase("first", "Failed"));
  CreatePod("third", told, /*bind=*/true, /*gpus=*/1);
  ASSERT_TRUE(RunUntil([&] { return Log("third") == "[GPU-a]\n"; })) << Log("third");
}

TEST_F(LocalNodesTest, ARunningPodIsReadyAndHasAnAddress) {
  CreatePod("p", "sleep 100");
  ASSERT_TRUE(RunUntilPhase("p", "Running"));
  const auto pod = Get("p");
  EXPECT_EQ(kube::StringAt(*pod, {"status", "podIP"}), "127.0.0.1");
  EXPECT_EQ((*pod)["status"]["conditions"][3]["type"], "Ready");
  EXPECT_EQ((*pod)["status"]["conditions"][3]["status"], "True");
  EXPECT_EQ((*pod)["status"]["containerStatuses"][0]["ready"], true);
}

TEST_F(LocalNodesTest, AKilledPodSaysItsSignal) {
  CreatePod("p", "sleep 100");
  ASSERT_TRUE(RunUntilPhase("p", "Running"));
  ASSERT_EQ(kill(nodes_->running().at("default/p"), SIGKILL), 0);
  ASSERT_TRUE(RunUntilPhase("p", "Failed"));
  EXPECT_EQ(Terminated("p")["exitCode"], 137);
  EXPECT_EQ(Terminated("p")["signal"], 9);
}

TEST_F(LocalNodesTest, APodThatCannotStartFailsWithTheReason) {
  Json pod = kube::NewObject(kube::kPods, {"default", "p"});
  pod["spec"] = {
      {"containers",
       Json::array({{{"name", "worker"}, {"image", "none"}, {"command", {"/no/such/program"}}}})}};
  ASSERT_TRUE(api_->Create(kube::kPods, pod).ok());
  ASSERT_TRUE(api_->Bind({.pod = {"default", "p"}, .node = "local", .preconditions = {}}).ok());
  ASSERT_TRUE(RunUntilPhase("p", "Failed"));
  EXPECT_EQ(Terminated("p")["reason"], "StartError");
  EXPECT_EQ(Terminated("p")["message"],
            "cannot execute /no/such/program: No such file or directory");
}

TEST_F(LocalNodesTest, DeletionGivesThePodItsGraceAndThenRemovesIt) {
  CreatePod("p", "trap 'echo bye; exit 3' TERM; echo up; while :; do sleep 0.05; done");
  ASSERT_TRUE(RunUntil([&] { return Log("p") == "up\n"; }));
  ASSERT_TRUE(api_->Delete(kube::kPods, {"default", "p"}).ok());
  ASSERT_TRUE(RunUntilPhase("p", "(gone)"));
  EXPECT_EQ(Log("p"), "up\nbye\n");
}

TEST_F(LocalNodesTest, APodThatIgnoresItsEndIsKilledAfterItsGrace) {
  CreatePod("p", "trap '' TERM; echo up; while :; do sleep 0.05; done");
  ASSERT_TRUE(RunUntil([&] { return Log("p") == "up\n"; }));
  kube::DeleteOptions options;
  options.grace_period_seconds = 1;
  ASSERT_TRUE(api_->Delete(kube::kPods, {"default", "p"}, options).ok());
  ASSERT_TRUE(RunUntilPhase("p", "(gone)"));
  EXPECT_TRUE(nodes_->running().empty());
}

TEST_F(LocalNodesTest, ARestartAdoptsWhatRuns) {
  CreatePod("p", "echo up; sleep 100");
  ASSERT_TRUE(RunUntilPhase("p", "Running"));
  const pid_t pid = nodes_->running().at("default/p");
  NewNodes();
  EXPECT_EQ(nodes_->running().at("default/p"), pid);
  ASSERT_TRUE(RunUntil([&] { return Log("p") == "up\n"; }));
  EXPECT_EQ(Phase("p"), "Running");
  ASSERT_EQ(kill(pid, SIGKILL), 0);
  ASSERT_TRUE(RunUntilPhase("p", "Failed"));
  EXPECT_EQ(Terminated("p")["exitCode"], 137) << "it left no exit file, so it was killed";
  EXPECT_EQ(Log("p"), "up\n") << "it was not started again";
}

TEST_F(LocalNodesTest, ARestartReportsTheExitCodeThatWasLeftBehind) {
  CreatePod("p", "sleep 0.2; echo '{\"exitCode\":5}' > $MUSTER_EXIT_FILE; exit 5");
  ASSERT_TRUE(RunUntilPhase("p", "Running"));
  NewNodes();
  ASSERT_TRUE(RunUntilPhase("p", "Failed"));
  EXPECT_EQ(Terminated("p")["exitCode"], 5);
}

// A kind of process that a pod may leave behind.
struct LeftBehind {
  std::string name;
  std::string script;  // run by that process
  std::string start;   // starts it; SCRIPT stands for its script
};

void PrintTo(const LeftBehind& left, std::ostream* out) { *out << left.name; }

class NothingOfAPodOutlivesItTest : public LocalNodesTest,
                                    public testing::WithParamInterface<LeftBehind> {
 protected:
  void StartPod() {
    const std::string script = absl::StrCat("echo $$$$ > ", folder_, "/pid; ", GetParam().script);
    CreatePod("p", absl::StrCat(absl::StrReplaceAll(GetParam().start, {{"SCRIPT", script}}),
                                "\nexec sleep 1000"));
    ASSERT_TRUE(RunUntil([&] { return Number().find('\n') != std::string::npos; }));
    left_ = std::atoi(Number().c_str());
    ASSERT_TRUE(ProcessStartTime(left_).ok());
    ASSERT_TRUE(RunUntilPhase("p", "Running"));
  }
  std::string Number() { return ReadFile(FileSystem(), folder_ + "/pid").value_or(""); }
  // Checks as soon as the pod is reported to have ended, not a moment later.
  void ExpectNothingLeft() {
    ASSERT_TRUE(RunUntilPhase("p", "Failed"));
    EXPECT_EQ(ProcessStartTime(left_).status().code(), absl::StatusCode::kNotFound);
  }

  pid_t left_ = 0;
};

TEST_P(NothingOfAPodOutlivesItTest, WhenItIsKilled) {
  ASSERT_NO_FATAL_FAILURE(StartPod());
  ASSERT_EQ(kill(nodes_->running().at("default/p"), SIGKILL), 0);
  ExpectNothingLeft();
}

TEST_P(NothingOfAPodOutlivesItTest, WhenItEndsWhileNobodyLooks) {
  ASSERT_NO_FATAL_FAILURE(StartPod());
  const pid_t pod = nodes_->running().at("default/p");
  nodes_.reset();
  ASSERT_EQ(kill(pod, SIGKILL), 0);
  NewNodes();
  ExpectNothingLeft();
}

INSTANTIATE_TEST_SUITE_P(
    LocalNodesTest, NothingOfAPodOutlivesItTest,
    testing::Values(
        LeftBehind{"ASessionOfItsOwn", "exec sleep 1000", "setsid sh -c 'SCRIPT' &"},
        LeftBehind{"ADaemon", "exec sleep 1000", "(setsid sh -c 'SCRIPT' &)"},
        LeftBehind{"AnEmptiedEnvironment", "exec sleep 1000", "env -i /bin/sh -c 'SCRIPT' &"},
        LeftBehind{"AProcessThatKeepsExecuting", "eval \"$AGAIN\"",
                   "AGAIN='exec sh -c \"$AGAIN\"' setsid sh -c 'SCRIPT' &"},
        LeftBehind{"ADaemonThatKeepsExecutingWithoutEnvironment", "eval \"$AGAIN\"",
                   "(setsid env -i AGAIN='exec /bin/sh -c \"$AGAIN\"' /bin/sh -c 'SCRIPT' &)"}),
    [](const auto& info) { return info.param.name; });

TEST_F(LocalNodesTest, APodRemovedByForceIsEnded) {
  CreatePod("p", "sleep 100");
  ASSERT_TRUE(RunUntilPhase("p", "Running"));
  kube::DeleteOptions options;
  options.grace_period_seconds = 0;
  ASSERT_TRUE(api_->Delete(kube::kPods, {"default", "p"}, options).ok());
  ASSERT_TRUE(RunUntil([&] { return nodes_->running().empty(); }));
}

TEST_F(LocalNodesTest, AGrowingLogIsRotated) {
  CreatePod("p", "head -c 20000000 /dev/zero; while :; do echo later; sleep 0.05; done");
  const std::string rotated = folder_ + "/pods/p/logs/agent.log.1";
  ASSERT_TRUE(RunUntil([&] { return FileSystem().Stat(rotated).ok(); }));
  ASSERT_TRUE(RunUntil([&] { return Log("p").find("later") != std::string::npos; }));
  EXPECT_LT(Log("p").size(), 1'000'000u);
}

TEST_F(LocalNodesTest, StopAllLeavesNothing) {
  CreatePod("a", "trap '' TERM; echo up; while :; do sleep 0.05; done");
  CreatePod("b", "sleep 100");
  ASSERT_TRUE(RunUntil([&] { return Log("a") == "up\n" && Phase("b") == "Running"; }));
  nodes_->StopAll(absl::Milliseconds(100));
  EXPECT_TRUE(nodes_->running().empty());
}

}  // namespace
}  // namespace muster::control
