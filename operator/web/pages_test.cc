#include "operator/web/pages.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "operator/core/round/gang.h"
#include "operator/kube/object_meta.h"
#include "operator/kube/queue_resources.h"
#include "operator/kube/resource_type.h"
#include "operator/scheduler/cluster/scheduler_feed.h"
#include "operator/web/test_deps.h"

namespace muster::control {
namespace {

using testing::HasSubstr;

class QueuePageTest : public testing::Test {
 protected:
  QueuePageTest() {
    world_.scheduler.FollowQueues(queues_, priorities_);
    Json node = kube::NewObject(kube::kNodes, {"", "node"});
    node["status"] = {{"allocatable", {{"cpu", "64"}, {"memory", "64Gi"}, {"pods", "100"}}},
                      {"conditions", {{{"type", "Ready"}, {"status", "True"}}}}};
    world_.nodes.Upsert(node, ++version_);
  }
  void AddQueue(const std::string& name, const Json& spec) {
    Json queue = kube::NewObject(kube::kTrainingQueues, {"", name});
    queue["metadata"]["uid"] = name;
    queue["metadata"]["generation"] = 1;
    queue["spec"] = spec;
    queues_.Upsert(queue, ++version_);
  }
  // Adds a job with one worker that requests `cpus`.
  void AddJob(const std::string& name, const std::string& queue, int cpus,
              const std::string& priority = "") {
    Json job = kube::NewObject(kube::kTrainingJobs, {"default", name});
    job["metadata"]["uid"] = name;
    job["spec"] = {{"queue", queue}, {"workers", {{"count", 1}}}};
    if (!priority.empty()) job["spec"]["priorityClassName"] = priority;
    world_.jobs.Upsert(job, ++version_);
    Json pod = kube::NewObject(kube::kPods, {"default", absl::StrCat(name, "-0-1")});
    kube::SetLabel(pod, kJobLabel, name);
    kube::SetLabel(pod, kIndexLabel, "0");
    kube::SetLabel(pod, kIncarnationLabel, "1");
    kube::SetOwners(pod, {kube::ControllerReferenceTo(kube::kTrainingJobs, job)});
    pod["spec"] = {{"schedulerName", "muster"},
                   {"containers",
                    {{{"name", "worker"},
                      {"image", "x"},
                      {"resources", {{"requests", {{"cpu", absl::StrCat(cpus)}}}}}}}}};
    world_.pods.Upsert(pod, ++version_);
  }

  PageWorld world_;
  QueueCache queues_{ParseTrainingQueue};
  PriorityCache priorities_{ParsePriorityClass};
  uint64_t version_ = 100;
};

TEST_F(QueuePageTest, TheOrderTheWaitAndTheReasonAreShown) {
  Json high = kube::NewObject(kube::kPriorityClasses, {"", "high"});
  high["value"] = 1000;
  priorities_.Upsert(high, ++version_);
  AddQueue(
      "research",
      {{"parent", "all"}, {"weight", 2}, {"quotas", {{{"resource", "cpu"}, {"nominal", "1"}}}}});
  AddJob("later", "research", 2);
  AddJob("first", "research", 2, "high");
  world_.scheduler.RunOnce();
  const auto page = QueuePage(world_.Deps(), "research", 10);
  ASSERT_TRUE(page.ok()) << page.status();
  const Json& queue = (*page)["items"][0];
  EXPECT_EQ(queue["weight"], 2.0);
  EXPECT_EQ(queue["parent"], "all");
  EXPECT_EQ(queue["nominal"], (Json{{"cpu", 1000}}));
  EXPECT_EQ(queue["waiting"], 2);
  EXPECT_EQ(queue["running"], 0);
  ASSERT_EQ(queue["jobs"].size(), 2u);
  EXPECT_EQ(queue["jobs"][0]["job"], "default/first");
  EXPECT_EQ(queue["jobs"][0]["priority"], 1000);
  EXPECT_EQ(queue["jobs"][0]["reason"], "ExceedsQuota");
  EXPECT_EQ(queue["jobs"][0]["sentence"],
            "2 cpu needed; queue \"research\" may never use more than 1");
  EXPECT_EQ(queue["jobs"][1]["job"], "default/later");
  EXPECT_GT(queue["jobs"][0]["waitedSeconds"], 0);
}

TEST_F(QueuePageTest, RunningJobsAreCountedAndTheListIsBounded) {
  for (int i = 0; i < 3; ++i) AddJob(absl::StrCat("job-", i), "", 30);
  world_.scheduler.RunOnce();
  const auto page = QueuePage(world_.Deps(), "", 0);
  ASSERT_TRUE(page.ok()) << page.status();
  ASSERT_EQ((*page)["items"].size(), 1u);
  const Json& queue = (*page)["items"][0];
  EXPECT_EQ(queue["name"], "default");
  EXPECT_EQ(queue["running"], 2);
  EXPECT_EQ(queue["waiting"], 1);
  EXPECT_EQ(queue["jobs"], Json::array());
}

TEST_F(QueuePageTest, AQuotaOfAResourceThatNoNodeHasIsShown) {
  AddQueue("research", {{"quotas", {{{"resource", "nvidia.com/gpuu"}, {"nominal", "1"}}}}});
  world_.scheduler.RunOnce();
  const auto page = QueuePage(world_.Deps(), "research", 10);
  ASSERT_TRUE(page.ok()) << page.status();
  const Json& queue = (*page)["items"][0];
  EXPECT_EQ(queue["unknownResources"], (Json{"nvidia.com/gpuu"}));
  EXPECT_THAT(queue["complaint"].get<std::string>(), HasSubstr("nodes have cpu, memory"));
}

TEST_F(QueuePageTest, AQueueThatIsNotThereIsNotFound) {
  EXPECT_EQ(QueuePage(world_.Deps(), "typo", 10).status().code(), absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace muster::control
