#include "operator/reconcile/view/node_facts.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace muster::control {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

LabelledNode Node(const std::string& name, const std::string& zone, const std::string& leaf) {
  return {name,
          {{"topology.kubernetes.io/zone", zone}, {"network.topology.nvidia.com/leaf", leaf}}};
}

PodView PodOn(const std::string& node) {
  PodView pod;
  pod.node = node;
  return pod;
}

TEST(NodeDomainsTest, PodsHaveTheDomainsOfTheirNodesFromBroadToNarrow) {
  std::vector<PodView> pods = {PodOn("n2"), PodOn(""), PodOn("n1"), PodOn("gone")};
  NoteDomains({Node("n1", "a", "s1"), Node("n2", "b", "s2")}, pods);
  EXPECT_THAT(pods[0].node_domains, ElementsAre("b", "s2"));
  EXPECT_THAT(pods[1].node_domains, IsEmpty());
  EXPECT_THAT(pods[2].node_domains, ElementsAre("a", "s1"));
  EXPECT_THAT(pods[3].node_domains, IsEmpty()) << "its node is not known";
}

}  // namespace
}  // namespace muster::control
