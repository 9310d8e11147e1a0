// Quotas of resources of any name and of kinds of GPUs, through the scheduling cycle over the
// embedded API.
#include <string>

#include "base/json.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "operator/kube/object_meta.h"
#include "operator/kube/queue_resources.h"
#include "operator/kube/resource_type.h"
#include "operator/scheduler/scheduler_fixture.h"

namespace muster::control {
namespace {

using testing::HasSubstr;
using testing::Pair;
using testing::UnorderedElementsAre;

class QuotaResourcesTest : public SchedulerFixture {
 protected:
  void AddQuotas(const std::string& quotas) {
    Json queue = kube::NewObject(kube::kTrainingQueues, {"", "team"});
    queue["spec"]["quotas"] = Json::parse(quotas);
    ASSERT_TRUE(memory_->Create(kube::kTrainingQueues, queue).ok());
  }
  void AddNodeOf(const std::string& kind, const std::string& name, int gpus) {
    AddNode(name, gpus, {{"nvidia.com/gpu.product", kind}});
  }
  // Adds a node that has eight of another resource.
  void AddNodeWith(const std::string& resource, const std::string& name) {
    AddNode(name, 0);
    Json node = memory_->Get(kube::kNodes, {"", name}).value();
    node["status"]["allocatable"][resource] = "8";
    ASSERT_TRUE(memory_->UpdateStatus(kube::kNodes, node).ok());
  }
  // Adds a job of one worker, which has a GPU unless the pod's spec says otherwise.
  void AddOne(const std::string& name, const Json& pod = Json::object()) {
    AddJob(name, 1, 1, Json(), "team");
    AddPod(name, 0, 1, pod);
  }
  Json Asking(const std::string& resource, const std::string& amount) {
    Json pod = Json::parse(R"({"containers": [{"name": "worker", "image": "x"}]})");
    pod["containers"][0]["resources"]["limits"][resource] = amount;
    return pod;
  }
  Json OnKind(const std::string& kind) {
    return {{"nodeSelector", {{"nvidia.com/gpu.product", kind}}}};
  }
  Amounts Used() {
    for (const QueueReport& report : scheduler_->Queues(0)) {
      if (report.queue.name == "team") return report.queue.used;
    }
    return {};
  }
};

TEST_F(QuotaResourcesTest, AQuotaOfAnyResourceIsEnforced) {
  AddNodeWith("amd.com/gpu", "a");
  AddNodeWith("rdma/hca", "b");
  AddQuotas(R"([{"resource": "amd.com/gpu", "nominal": "4"},
                {"resource": "rdma/hca", "nominal": "1"}])");
  AddOne("amd", Asking("amd.com/gpu", "4"));
  AddOne("rdma", Asking("rdma/hca", "1"));
  ASSERT_EQ(RunOnce(), 2);
  EXPECT_THAT(Used(), UnorderedElementsAre(Pair("amd.com/gpu", 4), Pair("rdma/hca", 1)));
  AddOne("another-amd", Asking("amd.com/gpu", "1"));
  EXPECT_EQ(RunOnce(), 0);
  EXPECT_THAT(Sentence(), HasSubstr("1 amd.com/gpu needed, 0 available"));
  AddOne("another-rdma", Asking("rdma/hca", "1"));
  EXPECT_EQ(RunOnce(), 0);
}

TEST_F(QuotaResourcesTest, ASliceOfAGpuIsNoWholeOne) {
  AddNodeWith("nvidia.com/mig-1g.5gb", "a");
  AddQuotas(R"([{"resource": "nvidia.com/gpu", "nominal": "0"},
                {"resource": "nvidia.com/mig-1g.5gb", "nominal": "3"}])");
  AddOne("slices", Asking("nvidia.com/mig-1g.5gb", "3"));
  EXPECT_EQ(RunOnce(), 1);
  EXPECT_THAT(Used(), UnorderedElementsAre(Pair("nvidia.com/mig-1g.5gb", 3)));
}

TEST_F(QuotaResourcesTest, SharesAreOfEveryResourceThatNodesHave) {
  AddNodeWith("rdma/hca", "a");
  AddQuotas(R"([{"resource": "rdma/hca", "nominal": "8"}])");
  AddOne("rdma", Asking("rdma/hca", "4"));
  ASSERT_EQ(RunOnce(), 1);
  for (const QueueReport& report : scheduler_->Queues(0)) {
    if (report.queue.name == "team") EXPECT_NEAR(report.queue.share, 0.25, 0.01);
  }
}

TEST_F(QuotaResourcesTest, NobodyGetsAKindBeyondItsQuotaByNotNamingIt) {
  AddNodeOf("H100", "h", 4);
  AddQuotas(R"([{"resource": "nvidia.com/gpu/H100", "nominal": "1"}])");
  AddOne("silent");
  ASSERT_EQ(RunOnce(), 1);
  AddOne("another");
  EXPECT_EQ(RunOnce(), 0);
  EXPECT_THAT(Sentence(), HasSubstr("1 nvidia.com/gpu/H100 needed, 0 available"));
  AddOne("by-affinity", Json::parse(R"({"affinity": {"nodeAffinity": {
      "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [
        {"matchExpressions": [
          {"key": "nvidia.com/gpu.product", "operator": "In", "values": ["H100"]}]}]}}}})"));
  EXPECT_EQ(RunOnce(), 0);
}

TEST_F(QuotaResourcesTest, OnceItRunsAJobCountsForTheKindThatItGotAlone) {
  AddNodeOf("A100", "a", 1);
  AddQuotas(R"([{"resource": "nvidia.com/gpu/A100", "nominal": "4"},
                {"resource": "nvidia.com/gpu/H100", "nominal": "1"}])");
  AddNodeOf("H100", "h", 1);
  Cordon("h");
  AddOne("silent");
  ASSERT_EQ(RunOnce(), 1);
  EXPECT_THAT(Used(),
              UnorderedElementsAre(Pair("nvidia.com/gpu", 1), Pair("nvidia.com/gpu/A100", 1)));
  Cordon("h", false);
  AddOne("owner", OnKind("H100"));
  EXPECT_EQ(RunOnce(), 1);
}

// Both jobs count for both kinds while they wait, and the first gives one of them back as it
// starts.
TEST_F(QuotaResourcesTest, WhatAKindLeavesToOthersIsSeenAtOnce) {
  AddNodeOf("A100", "a", 2);
  AddNodeOf("H100", "h", 1);
  Cordon("h");
  AddQuotas(R"([{"resource": "nvidia.com/gpu/A100", "nominal": "2"},
                {"resource": "nvidia.com/gpu/H100", "nominal": "1"}])");
  AddOne("one");
  AddOne("two");
  EXPECT_EQ(RunOnce(), 1);
  EXPECT_EQ(scheduler_->RunOnce(), 1);
}

TEST_F(QuotaResourcesTest, AKindThatComesCountsForThoseThatWait) {
  AddNodeOf("A100", "a", 1);
  AddQuotas(R"([{"resource": "nvidia.com/gpu/A100", "nominal": "2"},
                {"resource": "nvidia.com/gpu/H100", "nominal": "0"}])");
  AddOne("one");
  AddOne("two");
  ASSERT_EQ(RunOnce(), 1);
  AddNodeOf("H100", "h", 1);
  EXPECT_EQ(RunOnce(), 0);
  EXPECT_THAT(Sentence(), HasSubstr("may never use more than 0"));
}

TEST_F(QuotaResourcesTest, AJobCountsForTheKindThatItsNodeTellsLater) {
  AddNode("h", 2);
  AddQuotas(R"([{"resource": "nvidia.com/gpu/H100", "nominal": "1"}])");
  AddOne("early");
  ASSERT_EQ(RunOnce(), 1);
  Json node = memory_->Get(kube::kNodes, {"", "h"}).value();
  kube::SetLabel(node, "nvidia.com/gpu.product", "H100");
  ASSERT_TRUE(memory_->Update(kube::kNodes, node).ok());
  AddOne("late");
  EXPECT_EQ(RunOnce(), 0);
  EXPECT_THAT(Used(),
              UnorderedElementsAre(Pair("nvidia.com/gpu", 1), Pair("nvidia.com/gpu/H100", 1)));
}

}  // namespace
}  // namespace muster::control
