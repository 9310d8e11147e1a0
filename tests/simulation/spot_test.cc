// Tests jobs that keep a floor of workers off spot nodes, in the whole operator on virtual time:
// the cloud takes all spot nodes back at once.
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "operator/core/round/gang.h"
#include "operator/kube/object_meta.h"
#include "operator/kube/resource_type.h"
#include "tests/simulation/replica_world.h"

namespace muster::control {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

constexpr int kSteps = 3000;

class SpotTest : public testing::Test {
 protected:
  SpotTest() : world_({.seed = 1, .election = false}) {}

  void AddSpotNode(const std::string& name, int pods, const std::string& type) {
    world_.AddNode(name, pods);
    Json node = world_.memory->Get(kube::kNodes, {"", name}).value();
    kube::SetLabel(node, "cloud.google.com/gke-spot", "true");
    kube::SetLabel(node, "node.kubernetes.io/instance-type", type);
    node["spec"]["taints"] = {
        {{"key", "cloud.google.com/gke-spot"}, {"value", "true"}, {"effect", "NoSchedule"}}};
    ASSERT_TRUE(world_.memory->Update(kube::kNodes, node).ok());
  }
  // The machine is gone without a word: its agents die, and its pods and the node with them.
  void Reclaim(const std::string& name) {
    for (const Json& pod : world_.Pods()) {
      if (kube::StringAt(pod, {"spec", "nodeName"}) != name) continue;
      world_.fleet->KillAgent(job_.uid, std::stoi(kube::LabelOf(pod, kIndexLabel)));
    }
    ASSERT_TRUE(world_.memory->Delete(kube::kNodes, {"", name}, {}).ok());
  }
  void AddJob(const Json& spec) {
    Json all = {{"trainer", {{"train", {{"steps", kSteps}}}}}};
    all.merge_patch(spec);
    job_ = world_.CreateJob("gpt", all);
  }
  bool TrainsWith(int workers) const {
    return world_.Job("gpt").status.state() == "Training" &&
           world_.fleet->Training(job_.uid) == workers;
  }
  std::string NodeOf(int worker) const {
    std::string node;
    int newest = -1;
    for (const Json& pod : world_.Pods()) {
      if (kube::LabelOf(pod, kIndexLabel) != absl::StrCat(worker)) continue;
      const int incarnation = std::stoi(kube::LabelOf(pod, kIncarnationLabel));
      if (incarnation < newest) continue;
      newest = incarnation;
      node = kube::StringAt(pod, {"spec", "nodeName"});
    }
    return node;
  }

  ReplicaWorld world_;
  TrainingJob job_;
};

TEST_F(SpotTest, AllSpotNodesAreTakenAtOnceAndTheJobGoesOnWithItsFloorAndGrowsBack) {
  world_.AddNode("stays", 2);
  AddSpotNode("spot-1", 1, "small");
  AddSpotNode("spot-2", 1, "large");
  AddJob({{"workers", {{"count", 4}, {"min", 2}}},
          {"spot", {{"maxFraction", 0.5}, {"onDemandFloor", 2}}}});
  ASSERT_TRUE(world_.RunUntil([&] { return TrainsWith(4); }, absl::Minutes(1)));
  EXPECT_EQ(NodeOf(0), "stays");
  EXPECT_EQ(NodeOf(1), "stays");
  EXPECT_THAT(NodeOf(2), HasSubstr("spot"));
  EXPECT_THAT(NodeOf(3), HasSubstr("spot"));
  world_.RunFor(absl::Seconds(5));

  Reclaim("spot-1");
  Reclaim("spot-2");
  ASSERT_TRUE(
      world_.RunUntil([&] { return world_.fleet->Training(job_.uid) == 2; }, absl::Minutes(5)));
  EXPECT_EQ(NodeOf(0), "stays");
  EXPECT_EQ(NodeOf(1), "stays");
  EXPECT_THAT(world_.promises.broken(), IsEmpty());

  AddSpotNode("spot-3", 2, "small");
  ASSERT_TRUE(world_.RunUntil([&] { return TrainsWith(4); }, absl::Minutes(5)));
  ASSERT_TRUE(world_.RunUntil([&] { return world_.Succeeded("gpt"); }, absl::Minutes(30)));
  EXPECT_THAT(world_.promises.broken(), IsEmpty());
}

TEST_F(SpotTest, AJobThatAllowsNoSpotNodesWaitsForOthers) {
  AddSpotNode("spot-1", 8, "small");
  AddJob({{"spot", {{"allow", false}}}});
  world_.RunFor(absl::Seconds(30));
  EXPECT_EQ(NodeOf(0), "");
  world_.AddNode("stays", 2);
  ASSERT_TRUE(world_.RunUntil([&] { return TrainsWith(2); }, absl::Minutes(1)));
  EXPECT_EQ(NodeOf(0), "stays");
  EXPECT_EQ(NodeOf(1), "stays");
}

}  // namespace
}  // namespace muster::control
