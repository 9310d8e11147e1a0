// Tests alert rules of a job with the operator as a whole and a real webhook on the loopback.
#include <limits>
#include <string>

#include "absl/strings/match.h"
#include "absl/time/time.h"
#include "base/json.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "httplib.h"
#include "operator/core/state/conditions.h"
#include "operator/kube/object_meta.h"
#include "operator/kube/resource_type.h"
#include "operator/notify/fake_receiver.h"
#include "operator/notify/receivers.h"
#include "operator/web/http/http_client.h"
#include "tests/integration/operator_world.h"

namespace muster::control {
namespace {

using testing::HasSubstr;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

constexpr char kJob[] = R"({
  "apiVersion": "muster.dev/v1alpha1", "kind": "TrainingJob",
  "metadata": {"namespace": "default", "name": "gpt"},
  "spec": {
    "workers": {"count": 1},
    "trainer": {"model": {"preset": "gpt2-nano"}, "data": {"uri": "/data/text"},
                "train": {"steps": 1000, "globalBatch": 8, "microBatch": 4, "sequence": 64}},
    "alerts": [
        {"name": "spike", "kind": "LossSpike", "lossSpike": {}, "receiver": "chat",
         "action": "Suspend"},
        {"name": "stall", "kind": "Stalled", "stalled": {"for": "1h"}, "receiver": "pager"}]
  }})";

class JobAlertsTest : public testing::Test {
 protected:
  JobAlertsTest() {
    Receiver chat;
    chat.name = "chat";
    chat.origin = chat_.origin();
    chat.path = "/hook";
    world_.alert_receivers = {chat};
    world_.AddNode("node-1", 8);
    world_.StartOperator();
    world_.CreateJob(kJob);
    WaitUntilTraining();
  }
  void WaitUntilTraining() {
    ASSERT_TRUE(world_.Until([&] {
      const TrainingJob job = world_.Job();
      return job.status.state() == "Training" && world_.ActiveIn(job.status.round()) == 1;
    })) << world_.Job().status.DebugString();
  }
  std::string ConditionOf(ConditionType type) {
    const TrainingJob job = world_.Job();
    const v1alpha1::Condition* condition = FindCondition(job.status, type);
    return condition == nullptr ? "" : condition->status() + "/" + condition->reason();
  }
  void Suspend(bool suspend) {
    ASSERT_TRUE(world_.Until([&] {
      absl::StatusOr<Json> job = world_.memory->Get(kube::kTrainingJobs, {"default", "gpt"});
      if (!job.ok()) return false;
      (*job)["spec"]["suspend"] = suspend;
      return world_.memory->Update(kube::kTrainingJobs, *job).ok();
    }));
  }
  std::string Metrics() {
    const auto page = MakeHttpClient(world_.http)->Get("/metrics");
    return page ? page->body : "";
  }
  // The page is of what the operator has read, which may be older than what it has written.
  bool MetricsShow(const std::string& line) {
    return world_.Until([&] { return absl::StrContains(Metrics(), line); });
  }
  bool HasEvent(const std::string& reason, const std::string& words) {
    const auto events = world_.memory->List(kube::kEvents, {});
    if (!events.ok()) return false;
    for (const Json& event : events->items) {
      const std::string text = DumpJson(event);
      if (absl::StrContains(text, "\"" + reason + "\"") && absl::StrContains(text, words)) {
        return true;
      }
    }
    return false;
  }

  FakeReceiver chat_;
  OperatorWorld world_;
};

TEST_F(JobAlertsTest, ASpikeIsToldSuspendsTheJobOnceAndIsOverAfterCalmSteps) {
  for (int step = 1; step <= 30; ++step) world_.Agent(0)->ReportStep(step, 2.0);
  world_.Agent(0)->ReportStep(31, kNan);
  ASSERT_TRUE(world_.Until([&] {
    return ConditionOf(ConditionType::kSuspended) == "True/WorkersStopped";
  })) << world_.Job().status.DebugString();
  EXPECT_TRUE(world_.Job().spec.suspend());
  EXPECT_EQ(ConditionOf(ConditionType::kAlertFiring), "True/LossSpike");
  ASSERT_EQ(world_.Job().status.alerts_size(), 1);
  EXPECT_EQ(world_.Job().status.alerts(0).message(), "the loss of step 31 is not finite");
  EXPECT_TRUE(world_.Until([&] {
    return HasEvent("SuspendedByAlert", "alert spike suspends the job") &&
           HasEvent("LossSpike", "alert spike: the loss of step 31 is not finite");
  }));
  const absl::StatusOr<Json> begin = ParseJson(chat_.Request(0).body);
  ASSERT_TRUE(begin.ok()) << begin.status();
  EXPECT_EQ((*begin)["status"], "firing");
  EXPECT_EQ((*begin)["alerts"][0]["labels"]["alert"], "spike");
  EXPECT_EQ((*begin)["alerts"][0]["annotations"]["description"],
            "the loss of step 31 is not finite");
  EXPECT_TRUE(
      MetricsShow("muster_job_alert_firing{training_job=\"default/gpt\",alert=\"spike\"} 1"))
      << Metrics();

  Suspend(false);
  WaitUntilTraining();
  for (int step = 1; step <= 40; ++step) world_.Agent(0)->ReportStep(step, 2.0);
  ASSERT_TRUE(world_.Until([&] {
    return ConditionOf(ConditionType::kAlertFiring) == "False/NoAlert";
  })) << world_.Job().status.DebugString();
  EXPECT_FALSE(world_.Job().spec.suspend()) << "it was suspended once";
  EXPECT_THAT(chat_.Request(1).body, HasSubstr(R"("status":"resolved")"));
  EXPECT_EQ(chat_.requests(), 2u);
  EXPECT_TRUE(world_.Until([&] { return HasEvent("AlertResolved", "alert spike is over"); }));
  EXPECT_TRUE(
      MetricsShow("muster_job_alert_firing{training_job=\"default/gpt\",alert=\"spike\"} 0"))
      << Metrics();
}

TEST_F(JobAlertsTest, AnotherOperatorKeepsTheAlertAndTellsItsEnd) {
  for (int step = 1; step <= 30; ++step) world_.Agent(0)->ReportStep(step, 2.0);
  world_.Agent(0)->ReportStep(31, 1000);
  ASSERT_TRUE(world_.Until([&] {
    return ConditionOf(ConditionType::kSuspended) == "True/WorkersStopped";
  })) << world_.Job().status.DebugString();
  chat_.Request(0);
  world_.StopOperator();
  world_.StartOperator();
  EXPECT_THAT(chat_.Request(1).body, HasSubstr(R"("status":"firing")")) << "it tells it again";
  EXPECT_EQ(ConditionOf(ConditionType::kAlertFiring), "True/LossSpike");
  ASSERT_TRUE(world_.memory->Delete(kube::kTrainingJobs, {"default", "gpt"}).ok());
  ASSERT_TRUE(world_.Until(
      [&] { return !world_.memory->Get(kube::kTrainingJobs, {"default", "gpt"}).ok(); }));
  EXPECT_THAT(chat_.Request(2).body, HasSubstr(R"("status":"resolved")"));
}

}  // namespace
}  // namespace muster::control
