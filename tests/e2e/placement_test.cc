// Gangs on a topology, on a real API server: nodes without kubelets, so that all there is to see is
// where pods are bound and what is said about it.
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/json.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "operator/kube/object_meta.h"
#include "tests/e2e/e2e_world.h"
#include "tests/testenv/test_cluster.h"

namespace muster::tests {
namespace {

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
    // A rack of two nodes with four places, and one of three with six.
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
    // No controller that would do it runs where nothing else needs it.
    world_->cluster()
        .Kubectl({"taint", "node", name, "node.kubernetes.io/not-ready:NoSchedule-"})
        .status()
        .IgnoreError();
  }

  // Of a CPU a worker.
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
           StringAt(now, {"status", "placement", "reason"}) == "Placed";
  });
  ASSERT_TRUE(job.ok()) << job.status();
  // The tighter rack, and pods of a node follow each other.
  EXPECT_EQ(NodesByPod("gpt"),
            (std::map<std::string, std::string>{
                {"gpt-0-1", "a0"}, {"gpt-1-1", "a0"}, {"gpt-2-1", "a1"}, {"gpt-3-1", "a1"}}));
  EXPECT_EQ(StringAt(*job, {"status", "placement", "level"}), "leaf");
  EXPECT_EQ(StringAt(*job, {"status", "placement", "domain"}), "spine-1/rack-a");
  const Json* score = Find(*job, {"status", "placement", "score"});
  ASSERT_NE(score, nullptr) << DumpJson(*job, 1);
  EXPECT_EQ(*score, 1);
}

TEST_F(PlacementTest, AGangThatFitsInNoRackIsToldSoOnItsPodsAndItself) {
  ASSERT_TRUE(Apply("wide", 7, "  topology: {require: leaf}\n").ok());
  const auto job = world_->WaitForJob("wide", "it is refused", [](const Json& now) {
    return ConditionOf(now, "Scheduled") == "False/Unschedulable";
  });
  ASSERT_TRUE(job.ok()) << job.status();
  const std::string reason = StringAt(*job, {"status", "placement", "reason"});
  EXPECT_TRUE(reason == "Topology" || reason == "Insufficient") << reason;
  EXPECT_EQ(Find(*job, {"status", "placement", "score"}), nullptr);
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

}  // namespace
}  // namespace muster::tests
