// Steps the wall clock of operators, nodes, agents and trainers half an hour ahead and back while a
// job trains; the API server's clock is not changed.
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "base/json.h"
#include "gtest/gtest.h"
#include "operator/api/job_field.h"
#include "operator/kube/object_meta.h"
#include "operator/kube/resource_type.h"
#include "tests/e2e/e2e_world.h"
#include "tests/e2e/logged_process.h"
#include "tests/e2e/operator_replicas.h"
#include "tests/testenv/test_cluster.h"

namespace muster::tests {
namespace {

using control::JobNumber;

constexpr char kJob[] = "stepped";

class ClockTest : public testing::Test {
 protected:
  void SetUp() override {
    clock_file_ = absl::StrCat(std::getenv("TEST_TMPDIR"), "/clock");
    Step(absl::ZeroDuration());
    E2eOptions options;
    options.replicas = 2;
    options.env = {"LD_PRELOAD=" + SourcePath("tests/e2e/stepped_clock.so"),
                   "MUSTER_TEST_CLOCK=" + clock_file_};
    auto world = E2eWorld::Create(options);
    ASSERT_TRUE(world.ok()) << world.status();
    world_ = *std::move(world);
    ASSERT_TRUE(world_->StartNode("n1", /*cpus=*/2).ok());
    const absl::Status started = world_->StartOperators();
    ASSERT_TRUE(started.ok()) << started;
    world_->SetCheckpointInterval(20);
    ASSERT_TRUE(world_->ApplyJob(kJob, 2, E2eWorld::kEndless).ok());
    const auto running = world_->WaitForRound(kJob, 2);
    ASSERT_TRUE(running.ok()) << running.status();
  }
  void TearDown() override {
    if (HasFailure() && world_ != nullptr) ADD_FAILURE() << world_->Logs();
  }

  // Writes the offset in place, because the processes have the file mapped.
  void Step(absl::Duration to) {
    const int64_t nanoseconds = absl::ToInt64Nanoseconds(to);
    std::fstream file(clock_file_, std::ios::in | std::ios::out | std::ios::binary);
    if (!file.is_open()) file.open(clock_file_, std::ios::out | std::ios::binary);
    file.write(reinterpret_cast<const char*>(&nanoseconds), sizeof(nanoseconds));
  }

  std::map<std::string, std::vector<pid_t>> Processes() {
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

  // Expects that the same processes keep stepping under the same leader.
  void ExpectUndisturbed(const std::map<std::string, std::vector<pid_t>>& before, int leader) {
    for (int i = 0; i < 3; ++i) {
      const absl::Status status = world_->WaitForMoreSteps(kJob);
      ASSERT_TRUE(status.ok()) << status;
    }
    const auto job = world_->cluster().Get(kube::kTrainingJobs, kJob);
    ASSERT_TRUE(job.ok()) << job.status();
    EXPECT_EQ(RoundOf(*job), 1);
    EXPECT_EQ((*job)["status"]["term"], 1);
    EXPECT_TRUE(absl::StartsWith(ConditionOf(*job, "Running"), "True"));
    EXPECT_EQ(JobNumber(*job, {"status", "failures", "count"}), 0);
    EXPECT_EQ(Processes(), before);
    EXPECT_EQ(world_->operators().Leader(), leader);
    EXPECT_FALSE(world_->operators().End(leader).has_value());
    const auto node = world_->cluster().Get(kube::kNodes, "n1");
    ASSERT_TRUE(node.ok()) << node.status();
    EXPECT_TRUE(absl::StartsWith(ConditionOf(*node, "Ready"), "True"));
  }

  std::string clock_file_;
  std::unique_ptr<E2eWorld> world_;
};

TEST_F(ClockTest, AClockSteppedThereAndBackDisturbsNothing) {
  const int leader = *world_->operators().Leader();
  const auto before = Processes();
  ASSERT_EQ(before.size(), 2u);
  Step(absl::Minutes(30));
  ExpectUndisturbed(before, leader);
  // The lease shows that the operator reads the stepped clock, once it is renewed.
  const absl::Status renewed = world_->WaitFor("the lease has the stepped time", [&] {
    absl::Time written;
    const auto lease =
        world_->cluster().api().Get(kube::kLeases, {"muster-system", "muster-operator"});
    return lease.ok() &&
           absl::ParseTime(absl::RFC3339_full, kube::StringAt(*lease, {"spec", "renewTime"}),
                           &written, nullptr) &&
           written > absl::Now() + absl::Minutes(25);
  });
  ASSERT_TRUE(renewed.ok()) << renewed;
  Step(absl::ZeroDuration());
  ExpectUndisturbed(before, leader);
  // New jobs are served, too.
  ASSERT_TRUE(world_->DeleteJob(kJob).ok());
  ASSERT_TRUE(world_->ApplyJob("after", 1, 20).ok());
  const auto done = world_->WaitForJob("after", "it succeeded", [](const Json& now) {
    return absl::StartsWith(ConditionOf(now, "Succeeded"), "True");
  });
  EXPECT_TRUE(done.ok()) << done.status();
}

}  // namespace
}  // namespace muster::tests
