#include "operator/placement/filter/node_policies.h"

#include <string>

#include "gtest/gtest.h"
#include "operator/placement/cluster/scheduling_node.h"
#include "operator/placement/cluster/spot_labels.h"
#include "operator/placement/filter/filter_fixtures.h"
#include "operator/placement/filter/filter_memo.h"
#include "operator/placement/filter/refusal.h"

namespace muster::control {
namespace {

TEST(TemplatePolicyTest, AnotherSchedulersPodIsRefused) {
  const SchedulingPod other = PodOf("p", "{'schedulerName':'volcano'}");
  EXPECT_EQ(CheckTemplate(other, "muster"),
            (NodeRefusal{FilterReason::kOtherScheduler, "volcano"}));
  EXPECT_EQ(CheckTemplate(PodOf("p"), "muster"),
            (NodeRefusal{FilterReason::kOtherScheduler, "default-scheduler"}));
  EXPECT_FALSE(CheckTemplate(PodOf("p", "{'schedulerName':'muster'}"), "muster"));
  EXPECT_FALSE(CheckTemplate(other, ""));
}

TEST(TemplatePolicyTest, ResourceClaimsAreRefused) {
  const SchedulingPod pod =
      PodOf("p", "{'resourceClaims':[{'name':'gpu','resourceClaimName':'c'}]}");
  EXPECT_EQ(CheckTemplate(pod, ""), (NodeRefusal{FilterReason::kResourceClaims, ""}));
}

TEST(NodeHealthPolicyTest, ReadyAndBelievable) {
  SchedulingNode node;
  node.name = "n";
  EXPECT_EQ(CheckNodeHealth(SchedulingPod(), node), (NodeRefusal{FilterReason::kNodeNotReady, ""}));
  node.ready = true;
  EXPECT_FALSE(CheckNodeHealth(SchedulingPod(), node));
  node.complaint = NodeComplaint{NodeFault::kNegativeAmount, "allocatable cpu is '-1'"};
  EXPECT_EQ(CheckNodeHealth(SchedulingPod(), node),
            (NodeRefusal{FilterReason::kNodeFaulty, "allocatable cpu is '-1'"}));
}

TEST(NodeHealthPolicyTest, AFlappingLinkClosesANodeForRdmaAloneAndNotForTcp) {
  SchedulingNode node;
  node.name = "n";
  node.ready = true;
  node.faults.rdma = "muster.dev/InfinibandHealthy is False (LinkFlaps)";
  SchedulingPod pod;
  pod.requests.SetScalar("nvidia.com/gpu", 8);
  EXPECT_FALSE(CheckNodeHealth(pod, node)) << "it talks over TCP";
  for (const char* device :
       {"rdma/hca_shared_devices_a", "nvidia.com/rdma-vf", "mellanox.com/HCA"}) {
    SchedulingPod rdma = pod;
    rdma.requests.SetScalar(device, 1);
    EXPECT_EQ(CheckNodeHealth(rdma, node),
              (NodeRefusal{FilterReason::kNodeFaulty, node.faults.rdma}))
        << device;
  }
}

SchedulingPod Avoiding() {
  SchedulingPod pod;
  pod.labels = {{kSpotLabel, kSpotAvoided}};
  return pod;
}

SchedulingNode NodeWith(const LabelMap& labels) {
  SchedulingNode node;
  node.labels = labels;
  return node;
}

TEST(SpotPolicyTest, APodThatAvoidsSpotNodesIsRefusedByThemAlone) {
  const SchedulingNode spot = NodeWith({{"karpenter.sh/capacity-type", "spot"}});
  const auto refusal = CheckSpot(Avoiding(), spot);
  ASSERT_TRUE(refusal);
  EXPECT_EQ(refusal->reason, FilterReason::kSpotNode);
  EXPECT_EQ(Sentence(*refusal), "nodes like it are spot nodes, which spot.allow rules out");
  EXPECT_FALSE(CheckSpot(Avoiding(), NodeWith({{"karpenter.sh/capacity-type", "on-demand"}})));
  EXPECT_FALSE(CheckSpot(Avoiding(), NodeWith({})));
  EXPECT_FALSE(CheckSpot(SchedulingPod(), spot));
}

TEST(SpotPolicyTest, AnswersAboutPodsThatAvoidSpotNodesAreNotTakenForOthers) {
  EXPECT_NE(TemplateKey(Avoiding()), TemplateKey(SchedulingPod()));
}

std::string Port(const std::string& port) {
  return "{'containers':[{'name':'c','ports':[{" + port + "}]}]}";
}

TEST(HostPortPolicyTest, ConflictsOnTheSameAddressOrOnAll) {
  FilterWorld world;
  world.AddNode("n");
  world.Bind(PodOf("there", Port("'hostPort':80,'hostIP':'10.0.0.1'")), "n");
  const NodeState& node = world.node("n");
  EXPECT_EQ(CheckHostPorts(PodOf("p", Port("'hostPort':80")), node),
            (NodeRefusal{FilterReason::kHostPorts, "80/TCP"}));
  EXPECT_TRUE(CheckHostPorts(PodOf("p", Port("'hostPort':80,'hostIP':'10.0.0.1'")), node));
  EXPECT_FALSE(CheckHostPorts(PodOf("p", Port("'hostPort':80,'hostIP':'10.0.0.2'")), node));
  EXPECT_FALSE(CheckHostPorts(PodOf("p", Port("'hostPort':80,'protocol':'UDP'")), node));
  EXPECT_FALSE(CheckHostPorts(PodOf("p", Port("'containerPort':80")), node));
}

TEST(HostPortPolicyTest, APodsPortIsFreeWhenItHasGone) {
  FilterWorld world;
  world.AddNode("n");
  world.Bind(PodOf("a", Port("'hostPort':80")), "n");
  world.Bind(PodOf("b", Port("'hostPort':80,'hostIP':'10.0.0.1'")), "n");
  world.Unbind("a");
  EXPECT_FALSE(
      CheckHostPorts(PodOf("p", Port("'hostPort':80,'hostIP':'10.0.0.2'")), world.node("n")));
  EXPECT_TRUE(
      CheckHostPorts(PodOf("p", Port("'hostPort':80,'hostIP':'10.0.0.1'")), world.node("n")));
}

TEST(HostPortPolicyTest, OnTheHostsNetworkEveryPortIsAHostPort) {
  FilterWorld world;
  world.AddNode("n");
  const std::string spec =
      "{'hostNetwork':true,'containers':[{'name':'c','ports':[{'containerPort':80}]}]}";
  world.Bind(PodOf("a", spec), "n");
  EXPECT_TRUE(CheckHostPorts(PodOf("p", spec), world.node("n")));
}

std::string Requests(const std::string& requests) {
  return "{'containers':[{'name':'c','resources':{'requests':{" + requests + "}}}]}";
}

TEST(ResourcePolicyTest, SaysWhatIsShortByHowMuch) {
  FilterWorld world;
  world.AddNode("n");
  world.Bind(PodOf("there", Requests("'nvidia.com/gpu':'5','cpu':'100m'")), "n");
  EXPECT_EQ(CheckResources(PodOf("p", Requests("'nvidia.com/gpu':'4'")), world.node("n")),
            (NodeRefusal{FilterReason::kResources, "nvidia.com/gpu", 4, 3, 8}));
  EXPECT_FALSE(
      CheckResources(PodOf("p", Requests("'nvidia.com/gpu':'3','cpu':'7900m'")), world.node("n")));
  EXPECT_EQ(CheckResources(PodOf("p", Requests("'cpu':'7901m'")), world.node("n")),
            (NodeRefusal{FilterReason::kResources, "cpu", 7901, 7900, 8000}));
}

TEST(ResourcePolicyTest, AnyResourceThatTheNodeDoesNotHave) {
  FilterWorld world;
  world.AddNode("n");
  for (const std::string name :
       {"rdma/hca_shared", "nvidia.com/mig-1g.10gb", "vpc.amazonaws.com/efa"}) {
    EXPECT_EQ(CheckResources(PodOf("p", Requests("'" + name + "':'1'")), world.node("n")),
              (NodeRefusal{FilterReason::kResources, name, 1, 0, 0}));
    EXPECT_FALSE(CheckResources(PodOf("p", Requests("'" + name + "':'0'")), world.node("n")));
  }
}

TEST(ResourcePolicyTest, ThePodsOfANodeAreCounted) {
  FilterWorld world;
  world.AddNode("n");
  for (int i = 0; i < 10; ++i) world.Bind(PodOf("p" + std::to_string(i)), "n");
  EXPECT_EQ(CheckResources(PodOf("p"), world.node("n")),
            (NodeRefusal{FilterReason::kResources, "pods", 1, 0, 10}));
}

// Pods hold more than there is, as after a device failure: a pod that needs none of it still fits.
TEST(ResourcePolicyTest, AnOvercommittedNode) {
  FilterWorld world;
  world.AddNode("n");
  world.Bind(PodOf("a", Requests("'nvidia.com/gpu':'12'")), "n");
  EXPECT_EQ(CheckResources(PodOf("p", Requests("'nvidia.com/gpu':'1'")), world.node("n")),
            (NodeRefusal{FilterReason::kResources, "nvidia.com/gpu", 1, 0, 8}));
  EXPECT_FALSE(CheckResources(PodOf("p", Requests("'cpu':'1'")), world.node("n")));
}

TEST(ResourcePolicyTest, TimesInIsTheScarcest) {
  const SchedulingPod pod = PodOf("p", Requests("'cpu':'2','nvidia.com/gpu':'3'"));
  FilterWorld world;
  EXPECT_EQ(TimesIn(world.AddNode("n").free, pod.requests, 100), 2);
  EXPECT_EQ(TimesIn(world.node("n").free, pod.requests, 1), 1);
  EXPECT_EQ(TimesIn(world.node("n").free, ResourceAmounts(), 7), 7);
}

}  // namespace
}  // namespace muster::control
