#include "operator/placement/filter/host_port_policy.h"

#include <string>

#include "gtest/gtest.h"
#include "operator/placement/filter/filter_fixtures.h"
#include "operator/placement/filter/refusal.h"

namespace muster::control {
namespace {

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

}  // namespace
}  // namespace muster::control
