#include "operator/objects/object_records.h"

#include <limits>
#include <string>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "operator/kube/proto/proto_object.h"
#include "operator/kube/proto/proto_schema.h"
#include "operator/kube/resource_type.h"

namespace muster::control {
namespace {

Json Parse(const std::string& text) { return ParseJson(text).value(); }

int64_t CpuMillis(const std::string& amount) {
  return ParseNodeRecord(Parse(absl::StrCat(R"({"metadata": {"name": "n"}, "status":
                         {"allocatable": {"cpu": ")",
                                            amount, R"("}}})")))
      ->allocatable.cpu_millis;
}

TEST(ObjectRecordsTest, ReadsKubernetesQuantities) {
  EXPECT_EQ(CpuMillis("0"), 0);
  EXPECT_EQ(CpuMillis("2"), 2000);
  EXPECT_EQ(CpuMillis("500m"), 500);
  EXPECT_EQ(CpuMillis("0.5"), 500);
  EXPECT_EQ(CpuMillis("1.5Ki"), 1500LL << 10);
  EXPECT_EQ(CpuMillis("1e3"), 1'000'000);
  EXPECT_EQ(CpuMillis("1n"), 1);
}

TEST(ObjectRecordsTest, AnUnreadableAmountCountsAsNothing) {
  for (const char* text :
       {"", "m", "-1", "1E", "1 Gi", "Gi", "1GiB", "0x10", "1.2.3", "nan", "inf"}) {
    EXPECT_EQ(CpuMillis(text), 0) << text;
  }
}

// Anyone who may create pods in a namespace can write any UID into their ownerReferences.
TEST(ObjectRecordsTest, AUidInOwnerReferencesAloneMakesNoWorker) {
  const Json worker = Parse(R"({
    "metadata": {"namespace": "d", "name": "gpt-0-2", "uid": "u",
      "labels": {"muster.dev/job": "gpt", "muster.dev/index": "0", "muster.dev/incarnation": "2"},
      "ownerReferences": [{"apiVersion": "muster.dev/v1alpha1", "kind": "TrainingJob",
                           "name": "gpt", "uid": "j", "controller": true}]}})");
  const auto read = [](const Json& json) { return ParsePodRecord(json).value(); };
  const auto with_owner = [&](const char* field, const Json& value) {
    Json changed = worker;
    changed["metadata"]["ownerReferences"][0][field] = value;
    return changed;
  };
  EXPECT_TRUE(IsWorkerOf(read(worker), {"d", "gpt"}, "j"));
  EXPECT_FALSE(IsWorkerOf(read(worker), {"e", "gpt"}, "j")) << "it is in another namespace";
  EXPECT_FALSE(IsWorkerOf(read(worker), {"d", "bert"}, "j"));
  EXPECT_FALSE(IsWorkerOf(read(worker), {"d", "gpt"}, "k"));
  for (const Json& forged :
       {with_owner("controller", false), with_owner("kind", "Job"), with_owner("name", "bert"),
        with_owner("apiVersion", "other.dev/v1alpha1")}) {
    EXPECT_EQ(read(forged).view->owner_uid, "") << forged;
  }
  for (const char* label : {"muster.dev/job", "muster.dev/index", "muster.dev/incarnation"}) {
    Json forged = worker;
    forged["metadata"]["labels"][label] = "7";
    EXPECT_EQ(read(forged).view->owner_uid, "") << label;
  }
  Json misnamed = worker;
  misnamed["metadata"]["name"] = "gpt-0-1";
  EXPECT_EQ(read(misnamed).view->owner_uid, "");
}

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
  EXPECT_EQ(pod->view->index, 0);
  EXPECT_EQ(pod->view->incarnation, 2);
  EXPECT_EQ(pod->view->owner_uid, "j");
  EXPECT_EQ(pod->view->node, "n1");
  EXPECT_EQ(pod->view->phase, PodPhase::kFailed);
  EXPECT_EQ(pod->view->exit_code, 137);
  EXPECT_EQ(pod->view->reason, "OOMKilled");
  EXPECT_TRUE(pod->view->others_left) << "the shell";
  ASSERT_EQ(pod->view->ended.size(), 2u);
  EXPECT_EQ(pod->view->ended[0].container, "worker");
  EXPECT_EQ(pod->view->ended[0].reason, "OOMKilled");
  EXPECT_EQ(pod->view->ended[1].container, "log");
  EXPECT_EQ(pod->view->ended[1].exit_code, 1);
  ASSERT_EQ(pod->view->conditions.size(), 1u);
  EXPECT_EQ(pod->view->conditions[0].type, "DisruptionTarget");
  EXPECT_EQ(pod->view->conditions[0].status, "True");
  EXPECT_EQ(pod->view->conditions[0].reason, "PreemptionByScheduler");
  EXPECT_TRUE(pod->ended());
  EXPECT_EQ(pod->requests, (Resources{2, 3000, int64_t{1} << 30, 1}));
  EXPECT_EQ(pod->scheduling->wants().node_selector.Value("zone"), "a");
}

// The affinity that keeps a pod off a node is all that a new leader has of why it does.
TEST(ObjectRecordsTest, ReadsTheNodeThatAPodIsKeptOff) {
  const auto avoided = [](const std::string& fields) {
    const auto pod = ParsePodRecord(Parse(
        R"({"metadata": {"name": "p", "labels": {"muster.dev/job": "gpt"}}, "spec": {"affinity": {
            "nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {
            "nodeSelectorTerms": [{"matchFields": )" +
        fields + "}]}}}}}"));
    return pod.ok() ? pod->view->avoided_node : pod.status().ToString();
  };
  EXPECT_EQ(avoided(R"([{"key": "metadata.name", "operator": "NotIn", "values": ["n7"]}])"), "n7");
  EXPECT_EQ(avoided(R"([{"key": "metadata.name", "operator": "In", "values": ["n7"]}])"), "");
  EXPECT_EQ(avoided(R"([{"key": "metadata.name", "operator": "NotIn", "values": ["a", "b"]}])"),
            "");
  EXPECT_EQ(avoided(R"([{"key": "metadata.name", "operator": "NotIn", "values": [7]}])"), "");
  EXPECT_EQ(avoided("[]"), "");
  EXPECT_EQ(avoided("7"), "");
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

TEST(ObjectRecordsTest, AFaultyNodeOffersNothing) {
  const auto node = ParseNodeRecord(Parse(R"({"metadata": {"name": "n"}, "status": {
      "allocatable": {"cpu": "-4", "memory": "1Gi", "pods": "110"},
      "conditions": [{"type": "Ready", "status": "True"}]}})"));
  ASSERT_TRUE(node.ok());
  EXPECT_FALSE(node->schedulable);
  EXPECT_EQ(node->allocatable, Resources());
  EXPECT_EQ(node->scheduling->complaint->fault, NodeFault::kNegativeAmount);
}

TEST(ObjectRecordsTest, GpusOfAllKindsAreCountedTogether) {
  const auto node = ParseNodeRecord(Parse(R"({"metadata": {"name": "n"}, "status": {
      "allocatable": {"nvidia.com/gpu": "4", "nvidia.com/mig-1g.5gb": "7", "amd.com/gpu": "2",
                      "rdma/ib": "9"}}})"));
  EXPECT_EQ(node->allocatable.gpus, 13);
}

// Objects as servers send them: every field that is read here and more.
constexpr char kWholePod[] = R"({
    "apiVersion": "v1", "kind": "Pod",
    "metadata": {"namespace": "d", "name": "gpt-0-2", "uid": "u", "resourceVersion": "7",
      "deletionTimestamp": "2026-01-01T00:00:00Z",
      "labels": {"muster.dev/job": "gpt", "muster.dev/index": "0", "muster.dev/incarnation": "2",
                 "app": "x"}, "managedFields": [{"manager": "kubelet"}],
      "ownerReferences": [{"apiVersion": "muster.dev/v1alpha1", "kind": "TrainingJob",
                           "name": "gpt", "uid": "j", "controller": true}]},
    "spec": {"nodeName": "n1", "schedulerName": "muster", "nodeSelector": {"zone": "a"},
      "volumes": [{"name": "v"}], "tolerations": [{"key": "k", "operator": "Exists"}],
      "initContainers": [{"resources": {"requests": {"cpu": "3"}}}],
      "containers": [{"name": "worker", "env": [{"name": "A", "value": "B"}],
                      "resources": {"requests": {"cpu": "500m"}, "limits": {"memory": "1Gi"}}}]},
    "status": {"phase": "Failed", "reason": "Evicted", "message": "low on memory",
      "startTime": "2026-01-01T00:00:05Z",
      "initContainerStatuses": [
        {"name": "copy", "state": {"waiting": {"reason": "CrashLoop", "message": "why"}}}],
      "containerStatuses": [
        {"name": "worker", "state": {"terminated": {"exitCode": 137, "signal": 9, "reason": "OOMKilled",
                                                    "message": "killed"}}},
        {"name": "log", "state": {"waiting": {"reason": "ImagePullBackOff", "message": "no"}}}],
      "conditions": [{"type": "PodScheduled", "status": "False", "reason": "r", "message": "no room"},
                     {"type": "Ready", "status": "True"}]}})";

std::string Printed(const PodRecord& pod) {
  std::string text =
      absl::StrCat(kube::ToString(pod.key), " ", pod.job, " ", pod.scheduling->scheduler_name, " ",
                   pod.requests.cpu_millis, " ", pod.requests.memory_bytes, " ",
                   pod.scheduling->wants().node_selector.size(), " ",
                   pod.scheduling->wants().tolerations.size(), " ", pod.unscheduled_message);
  const PodView& view = *pod.view;
  absl::StrAppend(&text, " ", view.uid, " ", view.resource_version, " ", view.owner_uid, " ",
                  view.index, view.incarnation, static_cast<int>(view.phase), " ", view.node, " ",
                  view.deleting, view.ready, " ", view.exit_code.value_or(-1), " ",
                  view.others_left, " ", view.reason, " ", view.message);
  for (const ContainerEnd& end : view.ended) {
    absl::StrAppend(&text, " ", end.container, " ", end.exit_code, " ", end.signal, " ",
                    end.reason);
  }
  for (const ContainerWait& wait : view.waiting) {
    absl::StrAppend(&text, " ", wait.container, " ", wait.reason, " ", wait.message);
  }
  for (const ConditionView& one : view.conditions) {
    absl::StrAppend(&text, " ", one.type, "=", one.status, " ", one.reason);
  }
  absl::StrAppend(&text, " ", absl::ToUnixSeconds(view.accepted));
  return text;
}

TEST(ObjectRecordsTest, ThePodFieldsAreAllThatIsRead) {
  const Json whole = Parse(kWholePod);
  const auto pod = ParsePodRecord(PodFields().Select(whole));
  ASSERT_TRUE(pod.ok()) << pod.status();
  EXPECT_EQ(Printed(*pod), Printed(*ParsePodRecord(whole)));
  EXPECT_EQ(Printed(*pod),
            "d/gpt-0-2 gpt muster 3000 1073741824 1 1 no room u 7 j 023 n1 11 137 1 Evicted low on "
            "memory worker 137 9 OOMKilled copy CrashLoop why log ImagePullBackOff no "
            "PodScheduled=False r Ready=True  1767225605");
}

TEST(ObjectRecordsTest, TheNodeFieldsAreAllThatIsRead) {
  const Json whole = Parse(R"({"metadata": {"name": "n", "labels": {"a": "b"}},
      "spec": {"unschedulable": true, "podCIDR": "x",
               "taints": [{"key": "k", "value": "v", "effect": "NoSchedule"}]},
      "status": {"allocatable": {"cpu": "4"}, "images": [{"names": ["i"]}],
                 "conditions": [{"type": "Ready", "status": "True", "reason": "r"}]}})");
  const auto node = ParseNodeRecord(NodeFields().Select(whole));
  ASSERT_TRUE(node.ok()) << node.status();
  EXPECT_EQ(node->scheduling->labels.size(), 1u);
  EXPECT_EQ(node->allocatable.cpu_millis, 4000);
  EXPECT_FALSE(node->schedulable);
  ASSERT_EQ(node->taints.size(), 1u);
  EXPECT_EQ(node->taints[0], (TaintView{"k", "v", "NoSchedule"}));
  ASSERT_EQ(node->conditions.size(), 1u);
  EXPECT_EQ(node->conditions[0].reason, "r");
}

// Otherwise every pod and node of a cluster would come as JSON, at several times the cost.
TEST(ObjectRecordsTest, ThePodAndNodeFieldsAreReadFromProtobuf) {
  EXPECT_NE(kube::ProtoPlan::Make(PodFields().root(), *kube::ProtoMessageOf(kube::kPods)), nullptr);
  EXPECT_NE(kube::ProtoPlan::Make(NodeFields().root(), *kube::ProtoMessageOf(kube::kNodes)),
            nullptr);
}

}  // namespace
}  // namespace muster::control
