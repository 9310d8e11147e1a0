// Tests what a worker agent gives to the processes of ranks with GPUs, on a machine that a test
// describes: two GPUs on two NUMA nodes.

#include <atomic>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "agent/worker/scripted_coordinator.h"
#include "agent/worker/worker_agent.h"
#include "base/clock.h"
#include "base/files/files.h"
#include "base/mutex.h"
#include "base/process/process.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace muster::agent {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Starts nothing, and keeps what it was asked to start.
class AskedLauncher final : public ProcessLauncher {
 public:
  absl::StatusOr<std::unique_ptr<Process>> Launch(const ProcessSpec& spec) override {
    MutexLock lock(mu_);
    asked_.push_back(spec);
    changed_.NotifyAll();
    return absl::UnavailableError("nothing is started here");
  }
  absl::StatusOr<std::unique_ptr<Process>> Adopt(pid_t, uint64_t) override {
    return absl::NotFoundError("none");
  }
  int SignalMarked(const std::string&, int) override { return 0; }
  absl::Status EndMarked(const std::string&, absl::Duration) override { return absl::OkStatus(); }

  // Waits until so many were asked for, and returns them by their local rank.
  std::map<std::string, ProcessSpec> Wait(size_t ranks) {
    MutexLock lock(mu_);
    while (asked_.size() < ranks) changed_.Wait(mu_);
    std::map<std::string, ProcessSpec> specs;
    for (const ProcessSpec& spec : asked_) specs.emplace(VariableOf(spec, "LOCAL_RANK"), spec);
    return specs;
  }
  static std::string VariableOf(const ProcessSpec& spec, const std::string& name) {
    for (const std::string& entry : spec.env) {
      const std::pair<std::string, std::string> parts =
          absl::StrSplit(entry, absl::MaxSplits('=', 1));
      if (parts.first == name) return parts.second;
    }
    return "(unset)";
  }

 private:
  Mutex mu_;
  CondVar changed_;
  std::vector<ProcessSpec> asked_ MUSTER_GUARDED_BY(mu_);
};

class GpuRanksTest : public testing::Test {
 protected:
  GpuRanksTest() {
    char folder[] = "/tmp/muster-gpu-ranks-XXXXXX";
    folder_ = mkdtemp(folder);
    coordinator_ = std::make_unique<ScriptedCoordinator>(Address());
    options_.config.worker.set_job("gpt");
    options_.config.host = "127.0.0.1";
    options_.config.ranks = 2;
    options_.coordinator.addresses = {Address()};
    options_.trainer_path = "/no/trainer";
    options_.hardware.gpus.devices = {{.uuid = "GPU-a", .gpu = 0, .numa_node = 1},
                                      {.uuid = "GPU-b", .gpu = 1, .numa_node = 0}};
    options_.hardware.gpus.distances = {{0, 7}, {7, 0}};
    options_.hardware.numa_nodes = {{.index = 0, .cpus = "0-3"}, {.index = 1, .cpus = "4-7"}};
    options_.hardware.cpus = {1, 2, 5, 6};
    spec_.mutable_trainer();
    spec_.mutable_workers()->set_gpus(2);
  }
  ~GpuRanksTest() override {
    done_ = true;
    if (thread_.joinable()) thread_.join();
    RemoveAll(FileSystem(), folder_).IgnoreError();
  }
  std::string Address() const { return absl::StrCat("unix:", folder_, "/s"); }

  // Returns what the two ranks of the first round were to be started with.
  std::map<std::string, ProcessSpec> FirstRound() {
    thread_ = std::thread([this] {
      WorkerAgent agent(options_, Clock::Real(), launcher_, FileSystem());
      while (!done_ && !agent.RunOnce(absl::Milliseconds(10)).has_value()) {
      }
    });
    EXPECT_TRUE(coordinator_->Greet(1, spec_).has_value());
    v1alpha1::OperatorMessage prepare;
    prepare.mutable_prepare()->mutable_round()->set_term(1);
    prepare.mutable_prepare()->mutable_round()->set_round(1);
    prepare.mutable_prepare()->set_world_size(2);
    prepare.mutable_prepare()->set_group_world_size(1);
    prepare.mutable_prepare()->mutable_member()->set_ranks(2);
    EXPECT_TRUE(coordinator_->Say(prepare));
    return launcher_.Wait(2);
  }

  std::string folder_;
  std::unique_ptr<ScriptedCoordinator> coordinator_;
  AskedLauncher launcher_;
  WorkerAgentOptions options_;
  v1alpha1::TrainingJobSpec spec_;
  std::atomic<bool> done_ = false;
  std::thread thread_;
};

TEST_F(GpuRanksTest, ARankRunsOnTheCpusNearItsGpuThatTheWorkerMayUse) {
  auto ranks = FirstRound();
  EXPECT_EQ(AskedLauncher::VariableOf(ranks["0"], "CUDA_VISIBLE_DEVICES"), "GPU-a");
  EXPECT_EQ(AskedLauncher::VariableOf(ranks["1"], "CUDA_VISIBLE_DEVICES"), "GPU-b");
  EXPECT_THAT(ranks["0"].cpus, ElementsAre(5, 6));
  EXPECT_THAT(ranks["1"].cpus, ElementsAre(1, 2));
}

TEST_F(GpuRanksTest, RanksWithoutGpusAreToldOfNone) {
  spec_.mutable_workers()->set_gpus(0);
  auto ranks = FirstRound();
  for (const char* rank : {"0", "1"}) {
    EXPECT_EQ(AskedLauncher::VariableOf(ranks[rank], "CUDA_VISIBLE_DEVICES"), "(unset)");
    EXPECT_THAT(ranks[rank].cpus, IsEmpty());
  }
}

}  // namespace
}  // namespace muster::agent
