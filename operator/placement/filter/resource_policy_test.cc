#include "operator/placement/filter/resource_policy.h"

#include <string>

#include "gtest/gtest.h"
#include "operator/placement/filter/filter_fixtures.h"
#include "operator/placement/filter/refusal.h"

namespace muster::control {
namespace {

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
