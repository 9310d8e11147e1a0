// Places gangs on a topology, on a real API server. The nodes have no kubelets: the tests look only
// at where pods are bound and at the reasons given.
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/json.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "operator/api/job_field.h"
#include "operator/kube/object_meta.h"
#include "tests/e2e/e2e_world.h"
#include "tests/testenv/test_cluster.h"

namespace muster::tests {
namespace {

using control::JobField;
using control::JobText;
using kube::Find;
using kube::StringAt;
using testing::HasSubstr;

class PlacementTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    auto world = E2eWorld::Create();
    ASSERT_TRUE(world.ok()) << world.status();
    world_ = world->release();
    const absl::Status started = world_->StartOperator();
    ASSERT_TRUE(started.ok()) << started;
    // One rack of two nodes with room for four workers, and one of three nodes with room for six.
    for (const char* node : {"a0", "a1"}) AddNode(node, "rack-a");
    for (const char* node : {"b0", "b1", "b2"}) AddNode(node, "rack-b");
  }
  static void TearDownTestSuite() { delete std::exchange(world_, nullptr); }
  void SetUp() override { ASSERT_NE(world_, nullptr); }
  void TearDown() override {
    if (HasFailure()) ADD_FAILURE() << world_->Logs();
  }

  static void AddNode(const std::string& name, const std::string& rack) {
    const absl::Status applied = world_->cluster().Apply(
        absl::StrCat("apiVersion: v1\nkind: Node\nmetadata:\n  name: ", name,
                     "\n  labels: {network.topology.nvidia.com/leaf: ", rack,
                     ", network.topology.nvidia.com/spine: spine-1}\nspec: {}\n"));
    ASSERT_TRUE(applied.ok()) << applied;
    const absl::Status ready = world_->WaitFor(absl::StrCat(name, " is ready"), [&] {
      const auto patched = world_->cluster().Kubectl(
          {"patch", "node", name, "--subresource=status", "--type=merge", "-p",
           R"({"status": {"capacity": {"cpu": "2", "memory": "4Gi", "pods": "10"},
                          "allocatable": {"cpu": "2", "memory": "4Gi", "pods": "10"},
                          "conditions": [{"type": "Ready", "status": "True", "reason": "Test",
                                          "message": "", "lastHeartbeatTime": null,
                                          "lastTransitionTime": null}]}})"});
      return patched.ok();
    });
    ASSERT_TRUE(ready.ok()) << ready;
    // The controller that would remove this taint runs only in tests that need it.
    world_->cluster()
        .Kubectl({"taint", "node", name, "node.kubernetes.io/not-ready:NoSchedule-"})
        .status()
        .IgnoreError();
  }

  // Applies a job whose workers request one CPU each.
  absl::Status Apply(const std::string& name, int workers, const std::string& topology) {
    return world_->cluster().Apply(absl::StrCat(
        "apiVersion: muster.dev/v1alpha1\nkind: TrainingJob\nmetadata: {name: ", name,
        "}\nspec:\n  workers: {count: ", workers, "}\n", topology,
        "  template: {spec: {containers: [{name: worker, image: none, command: [sleep, '1'],\n"
        "    resources: {requests: {cpu: '1'}}}]}}\n"));
  }

  std::map<std::string, std::string> NodesByPod(const std::string& job) {
    std::map<std::string, std::string> nodes;
    for (const auto& [name, pod] : world_->Pods(job)) {
      nodes[name] = StringAt(pod, {"spec", "nodeName"});
    }
    return nodes;
  }

  static E2eWorld* world_;
};
E2eWorld* PlacementTest::world_ = nullptr;

TEST_F(PlacementTest, AGangLandsInOneRackWithItsRanksInOrderAndItsScoreInTheStatus) {
  ASSERT_TRUE(Apply("gpt", 4, "  topology: {require: leaf}\n").ok());
  const auto job = world_->WaitForJob("gpt", "it is placed", [](const Json& now) {
    return ConditionOf(now, "Scheduled") == "True/PodsBound" &&
           JobText(now, {"status", "placement", "reason"}) == "Placed";
  });
  ASSERT_TRUE(job.ok()) << job.status();
  // The smaller rack is used, and pods with adjacent indexes share a node.
  EXPECT_EQ(NodesByPod("gpt"),
            (std::map<std::string, std::string>{
                {"gpt-0-1", "a0"}, {"gpt-1-1", "a0"}, {"gpt-2-1", "a1"}, {"gpt-3-1", "a1"}}));
  EXPECT_EQ(JobText(*job, {"status", "placement", "level"}), "leaf");
  EXPECT_EQ(JobText(*job, {"status", "placement", "domain"}), "spine-1/rack-a");
  const Json* score = JobField(*job, {"status", "placement", "score"});
  ASSERT_NE(score, nullptr) << DumpJson(*job, 1);
  EXPECT_EQ(*score, 1);
}

TEST_F(PlacementTest, AGangThatFitsInNoRackIsReportedOnItsPodsAndJob) {
  ASSERT_TRUE(Apply("wide", 7, "  topology: {require: leaf}\n").ok());
  const auto job = world_->WaitForJob("wide", "it is refused", [](const Json& now) {
    return ConditionOf(now, "Scheduled") == "False/Unschedulable";
  });
  ASSERT_TRUE(job.ok()) << job.status();
  const std::string reason = JobText(*job, {"status", "placement", "reason"});
  EXPECT_TRUE(reason == "Topology" || reason == "Insufficient") << reason;
  EXPECT_EQ(JobField(*job, {"status", "placement", "score"}), nullptr);
  std::string sentence;
  const absl::Status told = world_->WaitFor("every pod says why", [&] {
    int telling = 0;
    for (const auto& [name, pod] : world_->Pods("wide")) {
      const Json* conditions = Find(pod, {"status", "conditions"});
      if (conditions == nullptr || !conditions->is_array()) continue;
      for (const Json& condition : *conditions) {
        if (StringAt(condition, {"type"}) != "PodScheduled") continue;
        telling += StringAt(condition, {"reason"}) == "Unschedulable" ? 1 : 0;
        sentence = StringAt(condition, {"message"});
      }
    }
    return telling == 7;
  });
  ASSERT_TRUE(told.ok()) << told;
  EXPECT_THAT(sentence, HasSubstr("fits now with workers.count <= "));
}

// kube-scheduler's rule for host ports decides: topology alone would use two nodes.
TEST_F(PlacementTest, WorkersWithOneHostPortAreOnNodesOfTheirOwn) {
  ASSERT_TRUE(world_->cluster()
                  .Apply("apiVersion: muster.dev/v1alpha1\nkind: TrainingJob\nmetadata: {name: "
                         "ports}\nspec:\n  workers: {count: 3}\n  template: {spec: {containers: "
                         "[{name: worker, image: none, command: [sleep, '1'],\n    ports: "
                         "[{containerPort: 9000, hostPort: 9000}],\n    resources: {requests: "
                         "{cpu: '500m'}}}]}}\n")
                  .ok());
  const auto job = world_->WaitForJob("ports", "it is placed", [](const Json& now) {
    return ConditionOf(now, "Scheduled") == "True/PodsBound";
  });
  ASSERT_TRUE(job.ok()) << job.status();
  std::set<std::string> nodes;
  for (const auto& [pod, node] : NodesByPod("ports")) nodes.insert(node);
  EXPECT_EQ(nodes, (std::set<std::string>{"b0", "b1", "b2"}));
}

// Uses a claim that waits for its first consumer and a local disk of one node. The volume
// controller binds them once the operator has chosen a node; only then is the pod bound.
TEST_F(PlacementTest, AWorkerGoesToTheNodeOfItsVolumeOnceItsClaimIsBound) {
  TestCluster& cluster = world_->cluster();
  const std::string late = cluster.Unique("late");
  ASSERT_TRUE(cluster.Kubectl({"label", "node", "b2", absl::StrCat("disk=", late)}).ok());
  ASSERT_TRUE(
      cluster
          .Apply(absl::StrCat(
              "apiVersion: storage.k8s.io/v1\nkind: StorageClass\nmetadata: {name: ", late,
              "}\nprovisioner: kubernetes.io/no-provisioner\nvolumeBindingMode: "
              "WaitForFirstConsumer\n---\napiVersion: v1\nkind: PersistentVolume\nmetadata: "
              "{name: ",
              late,
              "}\nspec:\n  capacity: {storage: 1Gi}\n  accessModes: [ReadWriteOnce]\n  "
              "storageClassName: ",
              late,
              "\n  local: {path: /disk}\n  nodeAffinity: {required: {nodeSelectorTerms: "
              "[{matchExpressions: [{key: disk, operator: In, values: [",
              late,
              "]}]}]}}\n---\napiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: "
              "data}\nspec:\n  storageClassName: ",
              late, "\n  accessModes: [ReadWriteOnce]\n  resources: {requests: {storage: 1Gi}}\n"))
          .ok());
  ASSERT_TRUE(cluster
                  .Apply("apiVersion: muster.dev/v1alpha1\nkind: TrainingJob\nmetadata: {name: "
                         "disk}\nspec:\n  workers: {count: 1}\n  template: {spec: {volumes: "
                         "[{name: d, persistentVolumeClaim: {claimName: data}}],\n    containers: "
                         "[{name: worker, image: none, command: [sleep, '1'],\n      resources: "
                         "{requests: {cpu: '100m'}}}]}}\n")
                  .ok());
  const auto job = world_->WaitForJob("disk", "it is placed", [](const Json& now) {
    return ConditionOf(now, "Scheduled") == "True/PodsBound";
  });
  EXPECT_TRUE(job.ok()) << job.status();
  EXPECT_EQ(NodesByPod("disk"), (std::map<std::string, std::string>{{"disk-0-1", "b2"}}));
  const auto phase = cluster.Kubectl({"get", "pvc", "data", "-o", "jsonpath={.status.phase}"});
  EXPECT_TRUE(phase.ok() && phase->out == "Bound") << phase.status();
  cluster.Kubectl({"delete", "storageclass,pv", late, "--wait=false"}).status().IgnoreError();
}

// A broken device plugin may report too much: the server accepts it, but the operator must not
// believe it.
TEST_F(PlacementTest, ANodeWithImpossibleValuesIsSetAsideAndItsDescriptionSaysWhy) {
  AddNode("liar", "rack-c");
  TestCluster& cluster = world_->cluster();
  const auto lied =
      cluster.Kubectl({"patch", "node", "liar", "--subresource=status", "--type=merge", "-p",
                       R"({"status": {"allocatable": {"cpu": "64"}}})"});
  ASSERT_TRUE(lied.ok()) << lied.status();
  std::string description;
  const absl::Status told = world_->WaitFor("its description says it", [&] {
    const auto described = cluster.Kubectl({"describe", "node", "liar"});
    description = described.ok() ? described->out : std::string(described.status().message());
    return absl::StrContains(description, "NodeFaulty");
  });
  ASSERT_TRUE(told.ok()) << told << description;
  EXPECT_THAT(description, HasSubstr("set aside, nothing is placed here: allocatable cpu "));
  // The job needs more than any other node has, so only the faulty node's report would admit it.
  ASSERT_TRUE(world_->cluster()
                  .Apply("apiVersion: muster.dev/v1alpha1\nkind: TrainingJob\nmetadata: {name: "
                         "large}\nspec:\n  workers: {count: 1}\n  template: {spec: {containers: "
                         "[{name: worker, image: none, command: [sleep, '1'],\n    resources: "
                         "{requests: {cpu: '8'}}}]}}\n")
                  .ok());
  const auto job = world_->WaitForJob("large", "it is refused", [](const Json& now) {
    return ConditionOf(now, "Scheduled") == "False/Unschedulable";
  });
  EXPECT_TRUE(job.ok()) << job.status();
}

}  // namespace
}  // namespace muster::tests
