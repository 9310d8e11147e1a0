// Takes the API server or its store down and up again while operators, agents and trainers run.
// Jobs must keep training in the same processes, and the status must catch up. The outages are
// longer with MUSTER_FULL=1.
#include <algorithm>
#include <csignal>
#include <cstdint>
#include <iostream>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "base/files/files.h"
#include "base/json.h"
#include "base/testing/test_iterations.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "operator/api/job_field.h"
#include "operator/kube/object_meta.h"
#include "tests/e2e/e2e_world.h"
#include "tests/e2e/job_observer.h"
#include "tests/e2e/operator_replicas.h"
#include "tests/testenv/test_cluster.h"

namespace muster::tests {
namespace {

using control::JobNumber;
using testing::IsEmpty;

constexpr char kJob[] = "through";
constexpr char kServer[] = "kube-apiserver";
constexpr char kStore[] = "etcd";

class OutageTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    E2eOptions options;
    options.replicas = 2;
    options.supervise = true;
    // The default flags must survive an outage of a minute.
    if (FullEffort()) options.lease_flags = {"--lease-duration=15s"};
    auto world = E2eWorld::Create(options);
    ASSERT_TRUE(world.ok()) << world.status();
    world_ = world->release();
    observer_ = new JobObserver(world_->cluster().api(), world_->cluster().name_space());
    for (const char* node : {"n1", "n2"}) {
      const absl::Status started = world_->StartNode(node, /*cpus=*/2);
      ASSERT_TRUE(started.ok()) << started;
    }
    const absl::Status started = world_->StartOperators();
    ASSERT_TRUE(started.ok()) << started;
    world_->SetCheckpointInterval(20);
    ASSERT_TRUE(world_->ApplyJob(kJob, 2, E2eWorld::kEndless).ok());
    const auto running = world_->WaitForRound(kJob, 2);
    ASSERT_TRUE(running.ok()) << running.status();
  }
  static void TearDownTestSuite() {
    delete std::exchange(observer_, nullptr);
    delete std::exchange(world_, nullptr);
  }
  void SetUp() override {
    ASSERT_NE(observer_, nullptr);
    before_ = Processes();
    ASSERT_EQ(before_.size(), 2u);
    round_ = observer_->Job(kJob).round;
    ASSERT_GE(round_, 1);
  }
  void TearDown() override {
    if (HasFailure() && world_ != nullptr) ADD_FAILURE() << world_->Logs();
  }

  // Pids of agents and trainers by the UID of their pod.
  static std::map<std::string, std::vector<pid_t>> Processes() {
    std::map<std::string, std::vector<pid_t>> processes;
    for (const auto& [name, pod] : world_->Pods(kJob)) {
      for (const char* program : {"muster-agent", "muster-trainer"}) {
        for (const pid_t pid : world_->ProcessesOf(pod, program)) {
          processes[kube::UidOf(pod)].push_back(pid);
        }
      }
    }
    return processes;
  }

  // The step of the newest complete checkpoint, read from disk without asking a server.
  static int64_t CheckpointOnDisk() {
    int64_t newest = 0;
    const std::string folder = world_->Checkpoints(kJob);
    const auto entries = FileSystem().List(folder);
    if (!entries.ok()) return 0;
    for (const DirectoryEntry& entry : *entries) {
      absl::string_view name = entry.name;
      int64_t step = 0;
      if (!absl::ConsumePrefix(&name, "step-") || !absl::SimpleAtoi(name, &step)) continue;
      if (Exists(FileSystem(), absl::StrCat(folder, "/", entry.name, "/DONE"))) {
        newest = std::max(newest, step);
      }
    }
    return newest;
  }

  // Waits until the outage is over and expects that a checkpoint is written at its beginning and at
  // its end.
  static void WaitThroughOutage(absl::Duration outage) {
    const absl::Time end = Clock::Real().Monotonic() + outage;
    const auto more = [](const char* when) {
      const int64_t before = CheckpointOnDisk();
      const absl::Status status =
          world_->WaitFor(absl::StrCat("a checkpoint is written at the outage's ", when),
                          [&] { return CheckpointOnDisk() > before; });
      EXPECT_TRUE(status.ok()) << status;
    };
    more("beginning");
    EXPECT_TRUE(world_
                    ->WaitFor(
                        "the outage is over", [&] { return Clock::Real().Monotonic() >= end; },
                        outage + absl::Minutes(1))
                    .ok());
    more("end");
  }

  // Expects that the status catches up and that the same processes train on in the same round.
  void ExpectUndisturbed() {
    const absl::Time back = Clock::Real().Monotonic();
    const int64_t on_disk = CheckpointOnDisk();
    // Operators that ended during the outage are restarted only by a wait of the world's.
    const absl::Status caught_up =
        world_->WaitFor(absl::StrCat("the status catches up with step ", on_disk), [&] {
          const JobObserver::JobHistory now = observer_->Job(kJob);
          return now.step >= on_disk && now.checkpoint >= on_disk;
        });
    EXPECT_TRUE(caught_up.ok()) << caught_up;
    std::cout << "status catches up within " << Clock::Real().Monotonic() - back << std::endl;
    EXPECT_TRUE(world_->WaitForMoreSteps(kJob).ok());
    const auto job = world_->WaitForJob(kJob, "the leader has the round", [](const Json& now) {
      return absl::StartsWith(ConditionOf(now, "Running"), "True");
    });
    ASSERT_TRUE(job.ok()) << job.status();
    EXPECT_EQ(RoundOf(*job), round_);
    EXPECT_EQ(JobNumber(*job, {"status", "failures", "count"}), 0);
    EXPECT_EQ(Processes(), before_) << "the same agents and trainers";
    EXPECT_EQ(observer_->Job(kJob).pods.size(), 2u);
    EXPECT_THAT(observer_->broken(), IsEmpty());
  }

  void KillAndRestart(const std::string& component, absl::Duration outage) {
    ASSERT_TRUE(world_->cluster().Kill(component).ok());
    WaitThroughOutage(outage);
    Restart(component);
  }

  void Restart(const std::string& component) {
    const absl::Time begun = Clock::Real().Monotonic();
    const absl::Status started = world_->cluster().Start(component);
    ASSERT_TRUE(started.ok()) << started;
    std::cout << component << " answers " << Clock::Real().Monotonic() - begun
              << " after its start, at " << absl::FormatTime(Clock::Real().Wall()) << std::endl;
    ExpectUndisturbed();
  }

  static E2eWorld* world_;
  static JobObserver* observer_;
  std::map<std::string, std::vector<pid_t>> before_;
  int64_t round_ = 0;
};
E2eWorld* OutageTest::world_ = nullptr;
JobObserver* OutageTest::observer_ = nullptr;

TEST_F(OutageTest, TheApiServerIsKilledAndRestarted) {
  KillAndRestart(kServer, absl::ZeroDuration());
}

TEST_F(OutageTest, TheStoreIsKilledAndRestarted) { KillAndRestart(kStore, absl::ZeroDuration()); }

// The outage exceeds the lease, so there is no leader when it ends.
TEST_F(OutageTest, NobodyAnswersForLongerThanALease) {
  KillAndRestart(kServer, FullEffort() ? absl::Seconds(60) : absl::Seconds(5));
}

// No operator is left to wait for the server, so operators must start anew.
TEST_F(OutageTest, BothOperatorsEndWhileNobodyAnswers) {
  ASSERT_TRUE(world_->cluster().Kill(kServer).ok());
  for (int i = 0; i < world_->operators().count(); ++i) {
    ASSERT_TRUE(world_->operators().Signal(i, SIGKILL).ok());
  }
  Restart(kServer);
}

// Connections stay open but silent.
TEST_F(OutageTest, TheApiServerIsFrozenAndThawed) {
  ASSERT_TRUE(world_->cluster().Freeze(kServer).ok());
  WaitThroughOutage(absl::Seconds(5));
  ASSERT_TRUE(world_->cluster().Thaw(kServer).ok());
  ExpectUndisturbed();
}

// Runs last: new jobs are still served after all the outages.
TEST_F(OutageTest, NewJobsAreServedAfterwards) {
  ASSERT_TRUE(world_->ApplyJob("after", 1, 20).ok());
  const auto done = world_->WaitForJob("after", "it succeeded", [](const Json& now) {
    return absl::StartsWith(ConditionOf(now, "Succeeded"), "True");
  });
  EXPECT_TRUE(done.ok()) << done.status();
}

}  // namespace
}  // namespace muster::tests
