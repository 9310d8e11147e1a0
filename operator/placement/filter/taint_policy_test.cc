#include "operator/placement/filter/taint_policy.h"

#include "gtest/gtest.h"
#include "operator/placement/filter/filter_fixtures.h"
#include "operator/placement/filter/refusal.h"

namespace muster::control {
namespace {

constexpr char kGpuTaint[] = "{'taints':[{'key':'gpu','value':'a','effect':'NoSchedule'}]}";

TEST(TaintPolicyTest, NamesTheFirstTaintThatIsNotTolerated) {
  FilterWorld world;
  const NodeState& node = world.AddNode("n", "{}", kGpuTaint);
  EXPECT_EQ(CheckTaints(PodOf("p"), *node.node, false),
            (NodeRefusal{FilterReason::kTaint, "gpu=a:NoSchedule"}));
  for (const char* tolerations :
       {"{'tolerations':[{'operator':'Exists'}]}",
        "{'tolerations':[{'key':'gpu','operator':'Exists'}]}",
        "{'tolerations':[{'key':'gpu','value':'a'}]}",
        "{'tolerations':[{'key':'gpu','operator':'Equal','value':'a','effect':'NoSchedule'}]}"}) {
    EXPECT_FALSE(CheckTaints(PodOf("p", tolerations), *node.node, false)) << tolerations;
  }
  for (const char* tolerations :
       {"{'tolerations':[{'key':'gpu','value':'b'}]}",
        "{'tolerations':[{'key':'gpu','operator':'Exists','effect':'NoExecute'}]}"}) {
    EXPECT_TRUE(CheckTaints(PodOf("p", tolerations), *node.node, false)) << tolerations;
  }
}

TEST(TaintPolicyTest, PreferNoScheduleIsNoObstacle) {
  FilterWorld world;
  const NodeState& node =
      world.AddNode("n", "{}", "{'taints':[{'key':'x','effect':'PreferNoSchedule'}]}");
  EXPECT_FALSE(CheckTaints(PodOf("p"), *node.node, false));
}

TEST(TaintPolicyTest, ComparesNumbersOnlyWhenThatIsOn) {
  FilterWorld world;
  const NodeState& node =
      world.AddNode("n", "{}", "{'taints':[{'key':'level','value':'5','effect':'NoExecute'}]}");
  const SchedulingPod more =
      PodOf("p", "{'tolerations':[{'key':'level','operator':'Gt','value':'4'}]}");
  const SchedulingPod less =
      PodOf("p", "{'tolerations':[{'key':'level','operator':'Lt','value':'5'}]}");
  const SchedulingPod odd =
      PodOf("p", "{'tolerations':[{'key':'level','operator':'Gt','value':'04'}]}");
  EXPECT_FALSE(CheckTaints(more, *node.node, true));
  EXPECT_TRUE(CheckTaints(more, *node.node, false));
  EXPECT_TRUE(CheckTaints(less, *node.node, true));
  EXPECT_TRUE(CheckTaints(odd, *node.node, true));
}

TEST(TaintPolicyTest, ACordonedNodeIsForPodsThatTolerateIt) {
  FilterWorld world;
  const NodeState& node = world.AddNode("n", "{}", "{'unschedulable':true}");
  EXPECT_EQ(CheckUnschedulable(PodOf("p"), *node.node, false),
            (NodeRefusal{FilterReason::kNodeUnschedulable, ""}));
  const SchedulingPod daemon = PodOf(
      "p", "{'tolerations':[{'key':'node.kubernetes.io/unschedulable','operator':'Exists'}]}");
  EXPECT_FALSE(CheckUnschedulable(daemon, *node.node, false));
}

}  // namespace
}  // namespace muster::control
