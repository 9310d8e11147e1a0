// TrainingJobs from kubectl to their end on a real control plane, with real agents and trainers.
#include <csignal>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/files.h"
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
using testing::IsEmpty;
using testing::Not;

class E2eTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    auto world = E2eWorld::Create();
    ASSERT_TRUE(world.ok()) << world.status();
    world_ = world->release();
    for (const char* node : {"n1", "n2", "n3"}) {
      const absl::Status started = world_->StartNode(node);
      ASSERT_TRUE(started.ok()) << started;
    }
    const absl::Status started = world_->StartOperator();
    ASSERT_TRUE(started.ok()) << started;
  }
  static void TearDownTestSuite() { delete std::exchange(world_, nullptr); }
  void SetUp() override { ASSERT_NE(world_, nullptr); }
  void TearDown() override {
    EXPECT_THAT(world_->OperatorLog(), Not(HasSubstr("orbidden"))) << "a right is missing";
    if (HasFailure()) ADD_FAILURE() << world_->Logs();
  }

  static E2eWorld* world_;
};
E2eWorld* E2eTest::world_ = nullptr;

TEST_F(E2eTest, AJobTrainsToItsEndAndItsPodsTellTheWholeStory) {
  ASSERT_TRUE(world_->ApplyJob("whole", 2, 300).ok());
  const auto running = world_->WaitForRound("whole", 2);
  ASSERT_TRUE(running.ok()) << running.status();
  const auto pods = world_->Pods("whole");
  ASSERT_EQ(pods.size(), 2u);
  std::set<std::string> nodes;
  for (const auto& [name, pod] : pods) {
    nodes.insert(StringAt(pod, {"spec", "nodeName"}));
    EXPECT_EQ(StringAt(pod, {"status", "phase"}), "Running");
    EXPECT_EQ(StringAt(pod, {"status", "podIP"}), "127.0.0.1");
    EXPECT_EQ(StringAt(pod, {"status", "qosClass"}), "Burstable") << "the server's, kept";
    for (const char* type : {"PodScheduled", "Initialized", "ContainersReady", "Ready"}) {
      EXPECT_THAT(ConditionOf(pod, type), testing::StartsWith("True")) << name << " " << type;
    }
  }
  EXPECT_EQ(nodes.size(), 2u) << "a node has a CPU for one";
  const auto done = world_->WaitForJob("whole", "it succeeded", [](const Json& job) {
    return absl::StartsWith(ConditionOf(job, "Succeeded"), "True");
  });
  ASSERT_TRUE(done.ok()) << done.status();
  EXPECT_EQ(StepOf(*done), 300);
  EXPECT_EQ((*done)["status"]["checkpoint"]["step"], 300);
  EXPECT_TRUE(Exists(FileSystem(), world_->Checkpoints("whole") + "/step-000000300/DONE"));
  ASSERT_TRUE(
      world_->WaitFor("the pods have ended", [&] { return world_->Pods("whole").empty(); }).ok());
  const auto ended = world_->cluster().Get({"pods"});
  ASSERT_TRUE(ended.ok()) << ended.status();
  for (const Json& pod : (*ended)["items"]) {
    EXPECT_EQ(StringAt(pod, {"status", "phase"}), "Succeeded");
    const Json& terminated = pod["status"]["containerStatuses"][0]["state"]["terminated"];
    EXPECT_EQ(StringAt(terminated, {"reason"}), "Completed");
    EXPECT_EQ(terminated["exitCode"], 0);
  }
  EXPECT_TRUE(world_->DeleteJob("whole").ok());
}

TEST_F(E2eTest, ScaleAndEditOpenARoundInPlace) {
  ASSERT_TRUE(world_->ApplyJob("elastic", 2, 1'000'000).ok());
  const auto first = world_->WaitForRound("elastic", 2);
  ASSERT_TRUE(first.ok()) << first.status();
  const Json survivor = world_->Pods("elastic")["elastic-0-1"];
  const auto trainers = world_->TrainersOf(survivor);
  ASSERT_EQ(trainers.size(), 1u);

  const auto scaled = world_->cluster().Kubectl({"scale", "trainingjob/elastic", "--replicas=1"});
  ASSERT_TRUE(scaled.ok() && scaled->ok()) << scaled->err;
  const auto smaller = world_->WaitForRound("elastic", 1, RoundOf(*first));
  ASSERT_TRUE(smaller.ok()) << smaller.status();
  EXPECT_EQ(world_->TrainersOf(survivor), trainers);
  EXPECT_TRUE(world_->WaitForMoreSteps("elastic").ok());

  const auto edited = world_->cluster().Kubectl({"patch", "trainingjob/elastic", "--type=merge",
                                                 "--patch={\"spec\":{\"workers\":{\"count\":3}}}"});
  ASSERT_TRUE(edited.ok() && edited->ok()) << edited->err;
  const auto larger = world_->WaitForRound("elastic", 3, RoundOf(*smaller));
  ASSERT_TRUE(larger.ok()) << larger.status();
  EXPECT_EQ(world_->TrainersOf(survivor), trainers) << "its process lives on";
  EXPECT_GE(StepOf(*larger), StepOf(*smaller));
  EXPECT_TRUE(world_->WaitForMoreSteps("elastic").ok());
  EXPECT_TRUE(world_->DeleteJob("elastic").ok());
}

TEST_F(E2eTest, ALostNodesWorkerIsReplacedElsewhereAndTrainingGoesOn) {
  ASSERT_TRUE(world_->ApplyJob("lost", 2, 1'000'000).ok());
  const auto first = world_->WaitForRound("lost", 2);
  ASSERT_TRUE(first.ok()) << first.status();
  const auto before = world_->Pods("lost");
  const std::string node = StringAt(before.at("lost-1-1"), {"spec", "nodeName"});
  const auto trainers = world_->TrainersOf(before.at("lost-0-1"));
  world_->KillNode(node);
  ASSERT_TRUE(world_
                  ->WaitFor("the node is not ready",
                            [&] {
                              const auto now = world_->cluster().Get({"node", node});
                              return now.ok() &&
                                     absl::StartsWith(ConditionOf(*now, "Ready"), "Unknown");
                            })
                  .ok());
  const auto next = world_->WaitForRound("lost", 2, RoundOf(*first));
  ASSERT_TRUE(next.ok()) << next.status();
  const auto after = world_->Pods("lost");
  ASSERT_TRUE(after.count("lost-1-2")) << "the next incarnation";
  EXPECT_NE(StringAt(after.at("lost-1-2"), {"spec", "nodeName"}), node);
  EXPECT_EQ(world_->TrainersOf(after.at("lost-0-1")), trainers) << "the survivor lives on";
  EXPECT_TRUE(world_->WaitForMoreSteps("lost").ok());
  ASSERT_TRUE(world_
                  ->WaitFor("the old pod is evicted",
                            [&] {
                              const auto pod = world_->cluster().Get({"pod", "lost-1-1"});
                              return !pod.ok() || kube::IsTerminating(*pod);
                            })
                  .ok());
  // The machine comes back: it ends what is left, and takes pods again.
  ASSERT_TRUE(world_->StartNode(node).ok());
  EXPECT_TRUE(world_->DeleteJob("lost").ok());
}

}  // namespace
}  // namespace muster::tests
