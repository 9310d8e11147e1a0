#include "operator/placement/filter/node_health_policy.h"

#include "gtest/gtest.h"
#include "operator/placement/cluster/scheduling_node.h"
#include "operator/placement/filter/refusal.h"

namespace muster::control {
namespace {

TEST(NodeHealthPolicyTest, ReadyAndBelievable) {
  SchedulingNode node;
  node.name = "n";
  EXPECT_EQ(CheckNodeHealth(node), (NodeRefusal{FilterReason::kNodeNotReady, ""}));
  node.ready = true;
  EXPECT_FALSE(CheckNodeHealth(node));
  node.complaint = NodeComplaint{NodeFault::kNegativeAmount, "allocatable cpu is '-1'"};
  EXPECT_EQ(CheckNodeHealth(node),
            (NodeRefusal{FilterReason::kNodeFaulty, "allocatable cpu is '-1'"}));
}

}  // namespace
}  // namespace muster::control
