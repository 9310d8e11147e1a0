#include "operator/placement/filter/node_filter.h"

#include <memory>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "operator/placement/filter/filter_fixtures.h"
#include "operator/placement/filter/refusal.h"

namespace muster::control {
namespace {

constexpr char kGpus[] =
    "{'schedulerName':'muster','containers':[{'name':'c','resources':{'requests':{'nvidia.com/"
    "gpu':'3'}}}]}";

TEST(NodeFilterTest, TheFirstRefusalIsReturnedAndExplainNamesAll) {
  FilterWorld world;
  const NodeState& node = world.AddNode(
      "n", "{}", "{'unschedulable':true,'taints':[{'key':'k','effect':'NoSchedule'}]}");
  const SchedulingPod pod = PodOf("p", "{'nodeSelector':{'disk':'ssd'}}");
  const NodeFilter filter(pod, world.snapshot);
  EXPECT_EQ(filter.Check(node)->reason, FilterReason::kNodeUnschedulable);
  std::vector<FilterReason> all;
  for (const NodeRefusal& refusal : filter.Explain(node)) all.push_back(refusal.reason);
  EXPECT_EQ(all, (std::vector<FilterReason>{FilterReason::kNodeUnschedulable, FilterReason::kTaint,
                                            FilterReason::kNodeAffinity}));
  EXPECT_EQ(filter.Copies(node), 0);
}

TEST(NodeFilterTest, CopiesAreBoundByWhatIsFreeAndByWhatKeepsThemApart) {
  FilterWorld world;
  world.AddNode("n");
  const auto copies = [&](const std::string& spec) {
    const SchedulingPod pod = PodOf("p", spec);
    return NodeFilter(pod, world.snapshot).Copies(world.node("n"));
  };
  EXPECT_EQ(copies("{}"), 10);
  EXPECT_EQ(copies(kGpus), 2);
  EXPECT_EQ(copies("{'containers':[{'name':'c','ports':[{'hostPort':80}]}]}"), 1);
  EXPECT_EQ(
      copies("{'affinity':{'podAntiAffinity':{'requiredDuringSchedulingIgnoredDuringExecution':[{"
             "'topologyKey':'kubernetes.io/"
             "hostname','labelSelector':{'matchLabels':{'app':'x'}}}]}}}"),
      1);
  EXPECT_EQ(
      copies("{'topologySpreadConstraints':[{'maxSkew':3,'topologyKey':'kubernetes.io/hostname',"
             "'whenUnsatisfiable':'DoNotSchedule','labelSelector':{'matchLabels':{'app':'x'}}}]}"),
      3);
}

TEST(NodeFilterTest, PodsNominatedWithNoLowerPriorityCountAgainstThePod) {
  FilterWorld world;
  world.AddNode("n");
  auto nominated =
      std::make_shared<SchedulingPod>(PodOf("vip",
                                            "{'priority':10,'containers':[{'name':'c','resources':{"
                                            "'requests':{'nvidia.com/gpu':'6'}}}]}"));
  nominated->nominated = "n";
  world.snapshot.AddPod(nominated);
  SchedulingPod pod = PodOf("p", kGpus);
  EXPECT_EQ(Fits(world.node("n"), pod, world.snapshot),
            (NodeRefusal{FilterReason::kResources, "nvidia.com/gpu", 3, 2, 8}));
  pod.priority = 10;
  EXPECT_TRUE(Fits(world.node("n"), pod, world.snapshot));
  pod.priority = 11;
  EXPECT_FALSE(Fits(world.node("n"), pod, world.snapshot));
  // The pod's own nomination is not in its way.
  EXPECT_FALSE(Fits(world.node("n"), *nominated, world.snapshot));
}

TEST(NodeFilterTest, TerminatingPodsOfAnySchedulerHoldWhatTheyHave) {
  FilterWorld world;
  world.AddNode("n");
  SchedulingPod going = PodOf("going", kGpus);
  going.terminating = true;
  going.scheduler_name = "default-scheduler";
  world.Bind(going, "n");
  world.Bind(PodOf("here", kGpus), "n");
  const SchedulingPod pod = PodOf("p", kGpus);
  EXPECT_EQ(Fits(world.node("n"), pod, world.snapshot),
            (NodeRefusal{FilterReason::kResources, "nvidia.com/gpu", 3, 2, 8}));
  world.Unbind("going");
  going.node = "n";
  going.ended = true;
  world.snapshot.AddPod(std::make_shared<SchedulingPod>(going));
  EXPECT_FALSE(Fits(world.node("n"), pod, world.snapshot));
}

TEST(NodeFilterTest, AGangIsCheckedMemberByMember) {
  FilterWorld world;
  world.AddNode("n1", "{'rack':'a'}");
  world.AddNode("n2", "{'rack':'a'}");
  world.AddNode("n3", "{'rack':'b'}");
  const std::string apart =
      "{'affinity':{'podAntiAffinity':{'requiredDuringSchedulingIgnoredDuringExecution':[{"
      "'topologyKey':'rack','labelSelector':{'matchLabels':{'app':'x'}}}]}}}";
  const std::vector<PodPointer> gang = {std::make_shared<SchedulingPod>(PodOf("p0", apart)),
                                        std::make_shared<SchedulingPod>(PodOf("p1", apart))};
  const auto refused = CheckGang(gang, {"n1", "n2"}, world.snapshot);
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->member, 1u);
  EXPECT_EQ(refused->refusal.reason, FilterReason::kPodAffinity);
  EXPECT_FALSE(CheckGang(gang, {"n1", "n3"}, world.snapshot));
  // The cluster itself has not been touched.
  EXPECT_TRUE(world.node("n1").pods.empty());
}

}  // namespace
}  // namespace muster::control
