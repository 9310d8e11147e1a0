#include "operator/placement/filter/node_health_policy.h"

#include "gtest/gtest.h"
#include "operator/placement/cluster/scheduling_node.h"
#include "operator/placement/filter/refusal.h"

namespace muster::control {
namespace {

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

}  // namespace
}  // namespace muster::control
