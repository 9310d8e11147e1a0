#include "operator/placement/filter/node_affinity_policy.h"

#include <string>

#include "gtest/gtest.h"
#include "operator/placement/filter/filter_fixtures.h"
#include "operator/placement/filter/refusal.h"

namespace muster::control {
namespace {

std::string Affinity(const std::string& terms) {
  return "{'affinity':{'nodeAffinity':{'requiredDuringSchedulingIgnoredDuringExecution':"
         "{'nodeSelectorTerms':[" +
         terms + "]}}}}";
}

std::string Expression(const std::string& expression) {
  return Affinity("{'matchExpressions':[{" + expression + "}]}");
}

TEST(NodeAffinityPolicyTest, SelectorNamesTheLabelThatIsMissing) {
  FilterWorld world;
  const NodeState& node = world.AddNode("n", "{'disk':'ssd'}");
  EXPECT_FALSE(CheckNodeAffinity(PodOf("p", "{'nodeSelector':{'disk':'ssd'}}"), *node.node));
  EXPECT_EQ(CheckNodeAffinity(PodOf("p", "{'nodeSelector':{'disk':'hdd'}}"), *node.node),
            (NodeRefusal{FilterReason::kNodeAffinity, "label disk=hdd"}));
}

TEST(NodeAffinityPolicyTest, EveryOperator) {
  FilterWorld world;
  const NodeState& node = world.AddNode("n", "{'gen':'3','disk':'ssd'}");
  const auto fits = [&](const std::string& expression) {
    return MatchesNodeAffinity(PodOf("p", Expression(expression)), *node.node);
  };
  EXPECT_TRUE(fits("'key':'disk','operator':'In','values':['hdd','ssd']"));
  EXPECT_FALSE(fits("'key':'disk','operator':'NotIn','values':['ssd']"));
  EXPECT_TRUE(fits("'key':'none','operator':'NotIn','values':['ssd']"));
  EXPECT_TRUE(fits("'key':'disk','operator':'Exists'"));
  EXPECT_FALSE(fits("'key':'disk','operator':'DoesNotExist'"));
  EXPECT_TRUE(fits("'key':'gen','operator':'Gt','values':['2']"));
  EXPECT_FALSE(fits("'key':'gen','operator':'Gt','values':['3']"));
  EXPECT_TRUE(fits("'key':'gen','operator':'Lt','values':['4']"));
  EXPECT_FALSE(fits("'key':'disk','operator':'Lt','values':['4']"));
}

TEST(NodeAffinityPolicyTest, TermsAreAlternativesAndNoneIsNoNode) {
  FilterWorld world;
  const NodeState& node = world.AddNode("n", "{'disk':'ssd'}");
  const std::string wrong =
      "{'matchExpressions':[{'key':'disk','operator':'In','values':['hdd']}]}";
  const std::string right =
      "{'matchFields':[{'key':'metadata.name','operator':'In','values':['n']}]}";
  EXPECT_TRUE(MatchesNodeAffinity(PodOf("p", Affinity(wrong + "," + right)), *node.node));
  EXPECT_FALSE(MatchesNodeAffinity(PodOf("p", Affinity(wrong)), *node.node));
  EXPECT_FALSE(MatchesNodeAffinity(PodOf("p", Affinity("")), *node.node));
  EXPECT_FALSE(MatchesNodeAffinity(PodOf("p", Affinity("{}")), *node.node));
}

// "-5" is no label value, so the whole term has no effect, as in kube-scheduler.
TEST(NodeAffinityPolicyTest, ATermThatCannotBeMatchesNothing) {
  FilterWorld world;
  const NodeState& node = world.AddNode("n", "{'gen':'3'}");
  EXPECT_FALSE(MatchesNodeAffinity(
      PodOf("p", Expression("'key':'gen','operator':'Gt','values':['-5']")), *node.node));
  EXPECT_FALSE(MatchesNodeAffinity(
      PodOf("p", Expression("'key':'gen','operator':'NotIn','values':[]")), *node.node));
}

TEST(NodeAffinityPolicyTest, APodThatNamesItsNode) {
  FilterWorld world;
  const NodeState& node = world.AddNode("n");
  EXPECT_FALSE(CheckNodeName(PodOf("p", "{'nodeName':'n'}"), *node.node));
  EXPECT_EQ(CheckNodeName(PodOf("p", "{'nodeName':'m'}"), *node.node),
            (NodeRefusal{FilterReason::kNodeName, "m"}));
}

}  // namespace
}  // namespace muster::control
