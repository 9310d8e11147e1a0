// Tests --kueue-topology as it is deployed.
#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/json.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "operator/kube/object_meta.h"
#include "operator/scheduler/cluster/kueue_topology.h"
#include "tests/integration/operator_world.h"

namespace muster::control {
namespace {

using testing::ElementsAre;

TEST(KueueLevelsTest, AGangIsPlacedByTheLevelsOfTheTopologyFromTheFirstDecisionOn) {
  OperatorWorld world;
  world.kueue_topology = "racks";
  Json topology = kube::NewObject(kKueueTopologies[0], {"", "racks"});
  topology["spec"]["levels"] = Json::parse(
      R"([{"nodeLabel": "cloud.example/rack"}, {"nodeLabel": "kubernetes.io/hostname"}])");
  ASSERT_TRUE(world.memory->Create(kKueueTopologies[0], topology).ok());
  world.AddNode("a0", 1, {{"cloud.example/rack", "a"}});
  world.AddNode("b0", 1, {{"cloud.example/rack", "b"}});
  world.AddNode("b1", 1, {{"cloud.example/rack", "b"}});
  world.CreateJob(R"({"apiVersion": "muster.dev/v1alpha1", "kind": "TrainingJob",
    "metadata": {"name": "gpt", "namespace": "default"},
    "spec": {"workers": {"count": 2}, "topology": {"require": "cloud.example/rack"},
      "trainer": {"model": {"preset": "gpt2-nano"}, "data": {"uri": "/data/text"},
        "train": {"steps": 300, "globalBatch": 16, "microBatch": 4, "sequence": 64}},
      "checkpoint": {"uri": "/checkpoints"}}})");
  world.StartOperator();
  std::set<std::string> nodes;
  EXPECT_TRUE(world.Until([&] {
    nodes.clear();
    for (const Json& pod : world.Pods()) nodes.insert(kube::StringAt(pod, {"spec", "nodeName"}));
    return nodes.size() == 2 && nodes.count("") == 0;
  }));
  EXPECT_THAT(nodes, ElementsAre("b0", "b1"));
}

}  // namespace
}  // namespace muster::control
