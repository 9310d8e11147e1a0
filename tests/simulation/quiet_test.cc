// Tests how much the operator writes: at rest, with a thousand jobs that make progress, and for a
// job that cannot work.
#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/testing/test_iterations.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "operator/core/state/conditions.h"
#include "operator/kube/api_error.h"
#include "operator/kube/resource_type.h"
#include "tests/simulation/replica_world.h"

namespace muster::control {
namespace {

using testing::HasSubstr;

void SendNodeHeartbeat(ReplicaWorld& world, const std::string& name) {
  Json node = world.memory->Get(kube::kNodes, {"", name}).value();
  node["status"]["conditions"][0]["lastHeartbeatTime"] = kube::FormatTime(world.clock.Wall());
  ASSERT_TRUE(world.memory->UpdateStatus(kube::kNodes, node).ok());
}

TEST(QuietTest, AtRestNothingIsWrittenButTheLease) {
  ReplicaWorld world({.seed = 1, .replicas = 2, .resync = absl::Minutes(1)});
  world.AddNode("node-1", 8);
  world.CreateJob("ended", {{"trainer", {{"train", {{"steps", 10}}}}}});
  world.CreateJob("suspended", {{"suspend", true}});
  world.CreateJob("too-large", {{"workers", {{"count", 50}, {"min", 50}, {"max", 50}}}});
  ASSERT_TRUE(world.RunUntil([&] { return world.Succeeded("ended"); }, absl::Minutes(2)));
  world.RunFor(absl::Minutes(2));
  world.ForgetWrites();
  for (int i = 0; i < 60; ++i) {
    SendNodeHeartbeat(world, "node-1");
    world.RunFor(absl::Seconds(10));
  }
  EXPECT_EQ(world.Writes(), world.Writes("update leases"));
  EXPECT_NEAR(world.Writes("update leases"), 300, 15);
}

TEST(QuietTest, AJobThatHasEndedKeepsLittleInMemory) {
  ReplicaWorld world({.seed = 1, .election = false});
  world.AddNode("node-1", 8);
  const TrainingJob job = world.CreateJob("ended", {{"trainer", {{"train", {{"steps", 10}}}}}});
  ASSERT_TRUE(world.RunUntil([&] { return world.Succeeded("ended"); }, absl::Minutes(2)));
  const ProgressBoard& progress = world.hosts[0].replica->progress();
  const auto last = progress.Snapshot(job.uid).last_step;
  ASSERT_TRUE(last.has_value());
  EXPECT_FALSE(progress.StepsSince(job.uid, 0, 100).empty()) << "who watches it still reads them";
  EXPECT_TRUE(world.RegistryOf(0)->IsRegistered(job.uid));
  world.RunFor(absl::Minutes(2));
  EXPECT_TRUE(progress.StepsSince(job.uid, 0, 100).empty());
  EXPECT_FALSE(world.RegistryOf(0)->IsRegistered(job.uid));
  EXPECT_EQ(progress.Snapshot(job.uid).last_step->version().step(), last->version().step());
  EXPECT_TRUE(world.Succeeded("ended"));
}

TEST(QuietTest, ProgressOfAThousandJobsIsWrittenInTurns) {
  // None of 200 jobs or fewer would have to wait for its turn.
  const int kJobs = TestIterations({.sanitized = 300, .usual = 1000, .full = 1000});
  ReplicaWorld world({.seed = 1, .election = false, .resync = absl::Seconds(5)});
  std::vector<TrainingJob> jobs;
  for (int i = 0; i < kJobs; ++i) {
    // The jobs have no pods; their steps are reported below.
    jobs.push_back(world.CreateJob(absl::StrCat("job-", i), {{"suspend", true}}));
  }
  world.RunFor(absl::Seconds(20));
  std::map<std::string, std::vector<absl::Time>> writes;
  world.SetCallFaults(nullptr, [&](ReplicaWorld::Host&, const kube::ApiCall& call) {
    if (call.verb == kube::Verb::kUpdateStatus && call.type.plural == "trainingjobs") {
      writes[call.Key().name].push_back(world.clock.Monotonic());
    }
    return absl::OkStatus();
  });
  constexpr int kSeconds = 70;
  for (int second = 1; second <= kSeconds; ++second) {
    for (const TrainingJob& job : jobs) {
      v1alpha1::StepReports reports;
      reports.mutable_round()->set_round(1);
      v1alpha1::StepReport& step = *reports.add_steps();
      step.mutable_version()->set_step(second);
      step.set_applied(true);
      world.hosts[0].replica->progress().RecordSteps(job.uid, reports);
    }
    world.RunFor(absl::Seconds(1));
  }
  size_t all = 0;
  for (const auto& [name, times] : writes) {
    all += times.size();
    for (size_t i = 1; i < times.size(); ++i) {
      EXPECT_GE(times[i] - times[i - 1], absl::Seconds(10)) << name;
    }
  }
  EXPECT_LE(all, static_cast<size_t>(20 * kSeconds + 20));
  EXPECT_GE(all, static_cast<size_t>(20 * kSeconds * 9 / 10));
  EXPECT_EQ(writes.size(), static_cast<size_t>(kJobs));  // each job had its turn
}

TEST(QuietTest, AJobThatAlwaysFailsStarvesNobody) {
  ReplicaWorld world({.seed = 1, .election = false});
  world.AddNode("node-1", 100);
  int tries = 0;
  world.SetCallFaults(
      [&](ReplicaWorld::Host&, const kube::ApiCall& call) {
        const bool poisoned = call.verb == kube::Verb::kCreate && call.type.plural == "pods" &&
                              absl::StartsWith(call.Key().name, "poison");
        if (!poisoned) return absl::OkStatus();
        ++tries;
        return kube::ApiError(kube::Reason::kForbidden, "exceeded quota");
      },
      nullptr);
  world.CreateJob("poison");
  for (int i = 0; i < 10; ++i) world.CreateJob(absl::StrCat("good-", i));
  ASSERT_TRUE(world.RunUntil(
      [&] {
        for (int i = 0; i < 10; ++i) {
          if (!world.Succeeded(absl::StrCat("good-", i))) return false;
        }
        return true;
      },
      absl::Minutes(1)));
  world.RunFor(absl::Minutes(10));
  EXPECT_GE(tries, 10);  // the operator keeps trying
  EXPECT_LE(tries, 40);
  // One event counts all attempts.
  int events = 0;
  for (const Json& event : world.Events()) {
    if (event["reason"] != "FailedCreate") continue;
    ++events;
    EXPECT_EQ(event["message"], "pod poison-0-1: exceeded quota");
    EXPECT_EQ(event["count"], tries);
  }
  EXPECT_EQ(events, 1);
}

TEST(QuietTest, APodThatTheServerRefusesForGoodIsReportedAndNotRetried) {
  ReplicaWorld world({.seed = 1, .election = false});
  world.AddNode("node-1", 8);
  int tries = 0;
  bool refuse = true;
  world.SetCallFaults(
      [&](ReplicaWorld::Host&, const kube::ApiCall& call) {
        if (!refuse || call.verb != kube::Verb::kCreate || call.type.plural != "pods") {
          return absl::OkStatus();
        }
        ++tries;
        return kube::ApiError(kube::Reason::kInvalid, "spec.containers[0].image: Required value");
      },
      nullptr);
  world.CreateJob("gpt");
  world.RunFor(absl::Minutes(5));
  EXPECT_EQ(tries, 1);
  const TrainingJob refused = world.Job("gpt");
  const v1alpha1::Condition* admitted = FindCondition(refused.status, ConditionType::kAdmitted);
  ASSERT_NE(admitted, nullptr);
  EXPECT_EQ(admitted->status(), "False");
  EXPECT_EQ(admitted->reason(), "InvalidSpec");
  EXPECT_THAT(admitted->message(),
              HasSubstr("the API server refuses its pod: spec.containers[0].image"));
  const std::vector<Json> events = world.Events();
  EXPECT_TRUE(std::any_of(events.begin(), events.end(),
                          [](const Json& event) { return event["reason"] == "InvalidSpec"; }));
  // The user corrects the job.
  refuse = false;
  Json job = *world.memory->Get(kube::kTrainingJobs, {"default", "gpt"});
  job["spec"]["trainer"]["train"]["steps"] = 20;
  ASSERT_TRUE(world.memory->Update(kube::kTrainingJobs, job).ok());
  EXPECT_TRUE(world.RunUntil([&] { return world.Succeeded("gpt"); }, absl::Minutes(2)));
}

TEST(QuietTest, AStatusThatTheServerRefusesForGoodIsNotWrittenForEver) {
  ReplicaWorld world({.seed = 1, .election = false, .resync = absl::Hours(1)});
  int tries = 0;
  world.SetCallFaults(
      [&](ReplicaWorld::Host&, const kube::ApiCall& call) {
        if (call.verb != kube::Verb::kUpdateStatus || call.type.plural != "trainingjobs") {
          return absl::OkStatus();
        }
        ++tries;
        return kube::ApiError(kube::Reason::kInvalid, "status.round: Unknown field");
      },
      nullptr);
  world.CreateJob("gpt");
  world.RunFor(absl::Minutes(10));
  // One attempt, and one more for each change of the job that the first attempts caused.
  EXPECT_GE(tries, 1);
  EXPECT_LE(tries, 3);
}

}  // namespace
}  // namespace muster::control
