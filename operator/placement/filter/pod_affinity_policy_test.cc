#include "operator/placement/filter/pod_affinity_policy.h"

#include <optional>
#include <string>

#include "gtest/gtest.h"
#include "operator/placement/filter/filter_fixtures.h"
#include "operator/placement/filter/refusal.h"

namespace muster::control {
namespace {

std::string Term(const std::string& kind, const std::string& app, const std::string& more = "",
                 const std::string& key = "rack") {
  return "{'affinity':{'" + kind +
         "':{'requiredDuringSchedulingIgnoredDuringExecution':[{'topologyKey':'" + key +
         "','labelSelector':{'matchLabels':{'app':'" + app + "'}}" + more + "}]}}}";
}

FilterWorld TwoRacks() {
  FilterWorld world;
  world.AddNode("n1", "{'rack':'a'}");
  world.AddNode("n2", "{'rack':'a'}");
  world.AddNode("n3", "{'rack':'b'}");
  world.AddNode("n4");
  world.snapshot.SetNamespace("default", {{"team", "core"}});
  world.Bind(PodOf("db", "{}", "db"), "n1");
  return world;
}

std::optional<NodeRefusal> Ask(const FilterWorld& world, const std::string& node,
                               const SchedulingPod& pod) {
  return PodAffinityPolicy(pod, world.snapshot).Check(world.node(node));
}

TEST(PodAffinityPolicyTest, NearAndFar) {
  const FilterWorld world = TwoRacks();
  const SchedulingPod near = PodOf("p", Term("podAffinity", "db"));
  EXPECT_FALSE(Ask(world, "n2", near));
  EXPECT_EQ(Ask(world, "n3", near), (NodeRefusal{FilterReason::kPodAffinity, "affinity"}));
  EXPECT_TRUE(Ask(world, "n4", near));
  const SchedulingPod far = PodOf("p", Term("podAntiAffinity", "db"));
  EXPECT_EQ(Ask(world, "n2", far),
            (NodeRefusal{FilterReason::kPodAffinity, "anti-affinity by rack"}));
  EXPECT_FALSE(Ask(world, "n3", far));
  EXPECT_FALSE(Ask(world, "n4", far));
}

TEST(PodAffinityPolicyTest, TheFirstThatWantsToBeNearItsLikeMayGoAnywhereWithTheKey) {
  const FilterWorld world = TwoRacks();
  const SchedulingPod first = PodOf("p", Term("podAffinity", "x"));
  EXPECT_FALSE(Ask(world, "n3", first));
  EXPECT_TRUE(Ask(world, "n4", first));
}

TEST(PodAffinityPolicyTest, OthersKeepItAway) {
  FilterWorld world = TwoRacks();
  world.Bind(PodOf("shy", Term("podAntiAffinity", "x"), "shy"), "n3");
  EXPECT_EQ(Ask(world, "n3", PodOf("p")),
            (NodeRefusal{FilterReason::kPodAffinity, "another pod's anti-affinity by rack"}));
  EXPECT_FALSE(Ask(world, "n3", PodOf("p", "{}", "y")));
  world.Unbind("shy");
  EXPECT_FALSE(Ask(world, "n3", PodOf("p")));
}

TEST(PodAffinityPolicyTest, NamespacesByNameAndBySelector) {
  FilterWorld world = TwoRacks();
  world.snapshot.SetNamespace("other", {{"team", "a"}});
  EXPECT_TRUE(Ask(world, "n2", PodOf("p", Term("podAffinity", "db", ",'namespaces':['other']"))));
  const std::string core = ",'namespaceSelector':{'matchLabels':{'team':'core'}}";
  EXPECT_FALSE(Ask(world, "n2", PodOf("p", Term("podAffinity", "db", core))));
  const std::string a = ",'namespaceSelector':{'matchLabels':{'team':'a'}}";
  EXPECT_TRUE(Ask(world, "n2", PodOf("p", Term("podAffinity", "db", a))));
  EXPECT_FALSE(Ask(world, "n2", PodOf("p", Term("podAffinity", "db", ",'namespaceSelector':{}"))));
}

TEST(PodAffinityPolicyTest, LabelKeysOfThePodNarrowItsTerms) {
  FilterWorld world = TwoRacks();
  const std::string spec =
      "{'affinity':{'podAntiAffinity':{'requiredDuringSchedulingIgnoredDuringExecution':[{'"
      "topologyKey':'rack',"
      "'labelSelector':{},'mismatchLabelKeys':['app']}]}}}";
  EXPECT_TRUE(Ask(world, "n2", PodOf("p", spec)));
  EXPECT_FALSE(Ask(world, "n2", PodOf("p", spec, "db")));
}

TEST(PodAffinityPolicyTest, OnesLikeItselfOnOneNode) {
  const FilterWorld world = TwoRacks();
  const SchedulingPod apart =
      PodOf("p", Term("podAntiAffinity", "x", "", "kubernetes.io/hostname"));
  const PodAffinityPolicy policy(apart, world.snapshot);
  EXPECT_TRUE(policy.excludes_itself(world.node("n1")));
  const SchedulingPod other =
      PodOf("p", Term("podAntiAffinity", "x", "", "kubernetes.io/hostname"), "y");
  EXPECT_FALSE(PodAffinityPolicy(other, world.snapshot).excludes_itself(world.node("n1")));
}

}  // namespace
}  // namespace muster::control
