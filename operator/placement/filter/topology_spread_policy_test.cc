#include "operator/placement/filter/topology_spread_policy.h"

#include <string>

#include "gtest/gtest.h"
#include "operator/placement/filter/filter_fixtures.h"
#include "operator/placement/filter/refusal.h"

namespace muster::control {
namespace {

std::string Spread(const std::string& more = "", const std::string& spec = "") {
  return "{'topologySpreadConstraints':[{'maxSkew':1,'topologyKey':'rack','whenUnsatisfiable':"
         "'DoNotSchedule','labelSelector':{'matchLabels':{'app':'x'}}" +
         more + "}]" + spec + "}";
}

// rack a: n1 with two pods; rack b: n2 with one; n3 is in no rack.
FilterWorld TwoRacks() {
  FilterWorld world;
  world.AddNode("n1", "{'rack':'a'}");
  world.AddNode("n2", "{'rack':'b'}");
  world.AddNode("n3");
  world.Bind(PodOf("p1"), "n1");
  world.Bind(PodOf("p2"), "n1");
  world.Bind(PodOf("p3"), "n2");
  world.Bind(PodOf("other", "{}", "y"), "n2");
  return world;
}

TEST(TopologySpreadPolicyTest, TheFullerDomainIsRefusedWithTheSkew) {
  const FilterWorld world = TwoRacks();
  const SchedulingPod pod = PodOf("p", Spread());
  const TopologySpreadPolicy policy(pod, world.snapshot, false);
  EXPECT_EQ(policy.Check(world.node("n1")),
            (NodeRefusal{FilterReason::kTopologySpread, "rack", 2, 1}));
  EXPECT_FALSE(policy.Check(world.node("n2")));
  EXPECT_EQ(policy.Check(world.node("n3")),
            (NodeRefusal{FilterReason::kTopologySpread, "no label rack"}));
  EXPECT_EQ(policy.Room(world.node("n2"), 10), 1);
}

TEST(TopologySpreadPolicyTest, WithFewerDomainsThanMinDomainsTheFewestAreNone) {
  const FilterWorld world = TwoRacks();
  const SchedulingPod pod = PodOf("p", Spread(",'minDomains':3"));
  EXPECT_TRUE(TopologySpreadPolicy(pod, world.snapshot, false).Check(world.node("n2")));
}

TEST(TopologySpreadPolicyTest, NodesThatThePodCannotUseDoNotCountUnlessToldSo) {
  FilterWorld world = TwoRacks();
  world.AddNode("n4", "{'rack':'c','disk':'hdd'}");
  const std::string selector = ",'nodeSelector':{'disk':'ssd'}";
  world.AddNode("n1", "{'rack':'a','disk':'ssd'}");
  world.AddNode("n2", "{'rack':'b','disk':'ssd'}");
  const SchedulingPod honors = PodOf("p", Spread("", selector));
  EXPECT_FALSE(TopologySpreadPolicy(honors, world.snapshot, false).Check(world.node("n2")));
  const SchedulingPod ignores = PodOf("p", Spread(",'nodeAffinityPolicy':'Ignore'", selector));
  EXPECT_TRUE(TopologySpreadPolicy(ignores, world.snapshot, false).Check(world.node("n2")));
}

TEST(TopologySpreadPolicyTest, TaintsCountWhenToldSo) {
  FilterWorld world = TwoRacks();
  world.AddNode("n4", "{'rack':'c'}", "{'taints':[{'key':'k','effect':'NoSchedule'}]}");
  const SchedulingPod ignores = PodOf("p", Spread());
  EXPECT_TRUE(TopologySpreadPolicy(ignores, world.snapshot, false).Check(world.node("n2")));
  const SchedulingPod honors = PodOf("p", Spread(",'nodeTaintsPolicy':'Honor'"));
  EXPECT_FALSE(TopologySpreadPolicy(honors, world.snapshot, false).Check(world.node("n2")));
}

TEST(TopologySpreadPolicyTest, PodsThatGoDoNotCount) {
  FilterWorld world = TwoRacks();
  SchedulingPod going = PodOf("p2");
  going.terminating = true;
  world.Bind(going, "n1");
  const SchedulingPod pod = PodOf("p", Spread());
  EXPECT_FALSE(TopologySpreadPolicy(pod, world.snapshot, false).Check(world.node("n1")));
}

TEST(TopologySpreadPolicyTest, MatchLabelKeysNarrowTheSelector) {
  const FilterWorld world = TwoRacks();
  // The selector takes every pod of the namespace, narrowed to the pod's own app.
  const std::string spec =
      "{'topologySpreadConstraints':[{'maxSkew':1,'topologyKey':'rack','whenUnsatisfiable':"
      "'DoNotSchedule','labelSelector':{},'matchLabelKeys':['app']}]}";
  const SchedulingPod pod = PodOf("p", spec);
  EXPECT_TRUE(TopologySpreadPolicy(pod, world.snapshot, false).Check(world.node("n1")));
  const SchedulingPod other = PodOf("p", spec, "y");
  EXPECT_FALSE(TopologySpreadPolicy(other, world.snapshot, false).Check(world.node("n1")));
}

}  // namespace
}  // namespace muster::control
