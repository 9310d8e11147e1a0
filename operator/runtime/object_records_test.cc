#include "operator/runtime/object_records.h"

#include <limits>
#include <string>

#include "gtest/gtest.h"
#include "operator/runtime/quantity.h"

namespace muster::control {
namespace {

TEST(QuantityTest, ReadsKubernetesForms) {
  EXPECT_EQ(*ParseQuantityMillis("0"), 0);
  EXPECT_EQ(*ParseQuantityMillis("2"), 2000);
  EXPECT_EQ(*ParseQuantityMillis("500m"), 500);
  EXPECT_EQ(*ParseQuantityMillis("0.5"), 500);
  EXPECT_EQ(*ParseQuantityMillis("1.5Gi"), 1500LL << 30);
  EXPECT_EQ(*ParseQuantityMillis("1e3"), 1'000'000);
  EXPECT_EQ(*ParseQuantityMillis("1E"), std::numeric_limits<int64_t>::max());  // saturates
  EXPECT_EQ(*ParseQuantityMillis("1n"), 1);
}

TEST(QuantityTest, RefusesTheRest) {
  for (const char* text : {"", "m", "-1", "1 Gi", "Gi", "1GiB", "0x10", "1.2.3", "nan", "inf"}) {
    EXPECT_EQ(ParseQuantityMillis(text).status().code(), absl::StatusCode::kInvalidArgument)
        << text;
  }
}

Json Parse(const std::string& text) { return ParseJson(text).value(); }

TEST(ObjectRecordsTest, ReadsAPod) {
  const auto pod = ParsePodRecord(Parse(R"({
    "metadata": {"namespace": "d", "name": "gpt-0-2", "uid": "u", "resourceVersion": "7",
      "labels": {"muster.dev/job": "gpt", "muster.dev/index": "0", "muster.dev/incarnation": "2"},
      "ownerReferences": [{"apiVersion": "muster.dev/v1alpha1", "kind": "TrainingJob",
                           "name": "gpt", "uid": "j", "controller": true}]},
    "spec": {"nodeName": "n1", "schedulerName": "muster", "nodeSelector": {"zone": "a"},
      "initContainers": [{"resources": {"requests": {"cpu": "3"}}}],
      "containers": [{"resources": {"requests": {"cpu": "500m"}, "limits": {"memory": "1Gi"}}},
                     {"resources": {"limits": {"nvidia.com/gpu": "2"}}}]},
    "status": {"phase": "Failed", "containerStatuses": [
      {"name": "worker", "state": {"terminated": {"exitCode": 137, "reason": "OOMKilled"}}},
      {"name": "log", "state": {"terminated": {"exitCode": 1, "reason": "Error"}}},
      {"name": "shell", "state": {"running": {}}}],
      "conditions": [{"type": "DisruptionTarget", "status": "True",
                      "reason": "PreemptionByScheduler", "message": "x"}]}})"));
  ASSERT_TRUE(pod.ok()) << pod.status();
  EXPECT_EQ(pod->job, "gpt");
  EXPECT_EQ(pod->view.index, 0);
  EXPECT_EQ(pod->view.incarnation, 2);
  EXPECT_EQ(pod->view.owner_uid, "j");
  EXPECT_EQ(pod->view.node, "n1");
  EXPECT_EQ(pod->view.phase, PodPhase::kFailed);
  EXPECT_EQ(pod->view.exit_code, 137);
  EXPECT_EQ(pod->view.reason, "OOMKilled");
  ASSERT_EQ(pod->view.ended.size(), 2u);
  EXPECT_EQ(pod->view.ended[0].container, "worker");
  EXPECT_EQ(pod->view.ended[0].reason, "OOMKilled");
  EXPECT_EQ(pod->view.ended[1].container, "log");
  EXPECT_EQ(pod->view.ended[1].exit_code, 1);
  ASSERT_EQ(pod->view.conditions.size(), 1u);
  EXPECT_EQ(pod->view.conditions[0].type, "DisruptionTarget");
  EXPECT_EQ(pod->view.conditions[0].status, "True");
  EXPECT_EQ(pod->view.conditions[0].reason, "PreemptionByScheduler");
  EXPECT_TRUE(pod->ended());
  EXPECT_EQ(pod->requests, (Resources{2, 3000, int64_t{1} << 30, 1}));
  EXPECT_EQ(pod->node_selector.at("zone"), "a");
}

TEST(ObjectRecordsTest, SurvivesOddShapes) {
  const auto pod = ParsePodRecord(Parse(R"({"metadata": {"name": "x"},
      "spec": {"containers": 5, "nodeSelector": []}, "status": {"conditions": {}}})"));
  ASSERT_TRUE(pod.ok());
  EXPECT_EQ(pod->requests, (Resources{0, 0, 0, 1}));
  EXPECT_FALSE(ParsePodRecord(Parse("{}")).ok());
  EXPECT_FALSE(ParseNodeRecord(Parse("[]")).ok());
}

TEST(ObjectRecordsTest, ANodeIsSchedulableWhenReadyAndNotCordoned) {
  const std::string ready = R"("status": {"allocatable": {"cpu": "4", "pods": "110"},
                               "conditions": [{"type": "Ready", "status": "True"}]})";
  auto node = ParseNodeRecord(Parse(R"({"metadata": {"name": "n"}, )" + ready + "}"));
  EXPECT_TRUE(node->schedulable);
  EXPECT_EQ(node->allocatable, (Resources{0, 4000, 0, 110}));
  node = ParseNodeRecord(
      Parse(R"({"metadata": {"name": "n"}, "spec": {"unschedulable": true}, )" + ready + "}"));
  EXPECT_FALSE(node->schedulable);
  EXPECT_FALSE(ParseNodeRecord(Parse(R"({"metadata": {"name": "n"}})"))->schedulable);
}

TEST(ObjectRecordsTest, TaintsAreToleratedAsKubernetesDoes) {
  const auto node = ParseNodeRecord(Parse(R"({"metadata": {"name": "n"}, "spec": {"taints": [
      {"key": "a", "value": "x", "effect": "NoSchedule"},
      {"key": "b", "effect": "PreferNoSchedule"}]}})"));
  ASSERT_TRUE(node.ok());
  const auto tolerates = [&](const std::string& tolerations) {
    const auto pod =
        ParsePodRecord(Parse(R"({"metadata": {"name": "p", "labels": {"muster.dev/job": "j"}},
                  "spec": {"tolerations": )" +
                             tolerations + "}}"));
    return Tolerates(pod->tolerations, node->taints);
  };
  EXPECT_FALSE(tolerates("[]"));
  EXPECT_TRUE(tolerates(R"([{"key": "a", "value": "x"}])"));
  EXPECT_FALSE(tolerates(R"([{"key": "a", "value": "y"}])"));
  EXPECT_TRUE(tolerates(R"([{"key": "a", "operator": "Exists", "effect": "NoSchedule"}])"));
  EXPECT_FALSE(tolerates(R"([{"key": "a", "operator": "Exists", "effect": "NoExecute"}])"));
  EXPECT_TRUE(tolerates(R"([{"operator": "Exists"}])"));
  EXPECT_FALSE(tolerates(R"([{"key": "b", "operator": "Exists"}])"));
}

}  // namespace
}  // namespace muster::control
