// The taint of a broken node on a real API server.
#include <memory>
#include <string>

#include "absl/time/time.h"
#include "base/json.h"
#include "base/testing/manual_clock.h"
#include "gtest/gtest.h"
#include "operator/kube/api.h"
#include "operator/kube/object_meta.h"
#include "operator/kube/resource_type.h"
#include "operator/nodes/node_tainter.h"
#include "operator/nodes/node_wish.h"
#include "operator/nodes/unhealthy_taint.h"
#include "tests/integration/cluster_node.h"

namespace muster::control {
namespace {

class NodeTainterClusterTest : public ClusterNodeTest {
 protected:
  NodeTainterClusterTest()
      : ClusterNodeTest("taints",
                        {{"taints", {{{"key", "nvidia.com/gpu"}, {"effect", "NoSchedule"}}}}}) {}
  void SetUp() override {
    ClusterNodeTest::SetUp();
    if (HasFatalFailure()) return;
    tainter_ = std::make_unique<NodeTainter>(cluster_->api(), clock_, nodes_);
  }
  absl::Status SetCondition(const std::string& status) {
    Json node = Node();
    node["status"]["conditions"] = {
        {{"type", kGpuHealthyCondition}, {"status", status}, {"reason", "FatalXid"}}};
    return cluster_->api().UpdateStatus(kube::kNodes, node, LongTimeout()).status();
  }
  // Writes the condition, and lets the tainter see it `later`. The control plane writes new nodes
  // too, and may be faster than either.
  int See(const std::string& status, absl::Duration later) {
    absl::Status stored = SetCondition(status);
    for (int i = 0; i < 100 && absl::IsAborted(stored); ++i) stored = SetCondition(status);
    EXPECT_TRUE(stored.ok()) << stored;
    clock_.Advance(later);
    nodes_.Upsert(Node(), ++version_);
    int writes = 0;
    for (int run = 0; run < 100 && writes == 0; ++run) writes += tainter_->RunOnce();
    return writes;
  }
  bool Has(const std::string& key) const {
    const Json node = Node();
    if (!node["spec"].contains("taints")) return false;
    for (const Json& taint : node["spec"]["taints"]) {
      if (kube::StringAt(taint, {"key"}) == key) return true;
    }
    return false;
  }

  ManualClock clock_;
  NodeCache nodes_{ParseNodeRecord};
  uint64_t version_ = 0;
  std::unique_ptr<NodeTainter> tainter_;
};

TEST_F(NodeTainterClusterTest, ABrokenNodeIsTaintedUntilItHasBeenGoodForAWhile) {
  EXPECT_EQ(See("False", absl::ZeroDuration()), 1);
  EXPECT_TRUE(Has(kUnhealthyTaint));
  EXPECT_TRUE(Has("nvidia.com/gpu"));
  EXPECT_EQ(ParseHealthPast(kube::AnnotationOf(Node(), kHealthAnnotation)).faults, 1);
  EXPECT_EQ(See("True", NodeTainter::kRetry), 1);
  EXPECT_TRUE(Has(kUnhealthyTaint));
  EXPECT_EQ(See("True", WaitAfterFaults(1)), 1);
  EXPECT_FALSE(Has(kUnhealthyTaint));
  EXPECT_TRUE(Has("nvidia.com/gpu"));
}

}  // namespace
}  // namespace muster::control
