#include "operator/nodes/node_tainter.h"

#include <memory>
#include <string>

#include "base/json.h"
#include "base/testing/manual_clock.h"
#include "gtest/gtest.h"
#include "operator/kube/api_call.h"
#include "operator/kube/api_error.h"
#include "operator/kube/memory/memory_api.h"
#include "operator/kube/object_meta.h"
#include "operator/kube/resource_type.h"
#include "operator/kube/wrap/faulty_api.h"
#include "operator/nodes/node_wish.h"
#include "operator/nodes/unhealthy_taint.h"

namespace muster::control {
namespace {

class NodeTainterTest : public testing::Test {
 protected:
  NodeTainterTest() {
    kube::MemoryApiOptions options;
    options.random = [n = uint64_t{0}]() mutable { return ++n; };
    api_ = *kube::MemoryApi::Open(clock_, std::move(options));
    Json node = kube::NewObject(kube::kNodes, {"", "a"});
    node["spec"]["taints"] = {{{"key", "nvidia.com/gpu"}, {"effect", "NoSchedule"}}};
    EXPECT_TRUE(api_->Create(kube::kNodes, node).ok());
    tainter_ = std::make_unique<NodeTainter>(*api_, clock_, nodes_);
  }
  Json Node() { return *api_->Get(kube::kNodes, {"", "a"}); }
  void Report(const std::string& status, const std::string& reason) {
    Json node = Node();
    node["status"]["conditions"] = {
        {{"type", kGpuHealthyCondition}, {"status", status}, {"reason", reason}}};
    EXPECT_TRUE(api_->UpdateStatus(kube::kNodes, node).ok());
  }
  int Run(absl::Duration later = NodeTainter::kRetry) {
    clock_.Advance(later);
    nodes_.Upsert(Node(), ++version_);
    return tainter_->RunOnce();
  }
  // The keys of the node's taints with their values.
  std::string Taints() {
    std::string text;
    const Json node = Node();
    for (const Json& taint : node["spec"]["taints"]) {
      text += taint["key"].get<std::string>() + "=" + kube::StringAt(taint, {"value"}) + " ";
    }
    return text;
  }

  ManualClock clock_;
  std::unique_ptr<kube::MemoryApi> api_;
  NodeCache nodes_{ParseNodeRecord};
  uint64_t version_ = 0;
  std::unique_ptr<NodeTainter> tainter_;
};

TEST_F(NodeTainterTest, ABrokenNodeIsTaintedBesideItsOtherTaintsAndReturnsAfterAWhile) {
  Report("True", "NoFault");
  EXPECT_EQ(Run(), 0);
  Report("False", "FatalXid");
  EXPECT_EQ(Run(), 1);
  EXPECT_EQ(Taints(), "nvidia.com/gpu= muster.dev/unhealthy=FatalXid ");
  EXPECT_EQ(Node()["spec"]["taints"][1]["effect"], "NoSchedule");
  EXPECT_EQ(Run(), 0) << "nothing has changed";
  Report("True", "NoFault");
  EXPECT_EQ(Run(), 1) << "the time from which on it is good";
  EXPECT_EQ(Run(), 0);
  EXPECT_EQ(Taints(), "nvidia.com/gpu= muster.dev/unhealthy=FatalXid ");
  EXPECT_EQ(Run(WaitAfterFaults(1)), 1);
  EXPECT_EQ(Taints(), "nvidia.com/gpu= ");
  EXPECT_EQ(Run(), 0);
}

TEST_F(NodeTainterTest, APortThatIsBrokenTaintsANodeWhoseGpusAreWell) {
  const auto report = [&](const std::string& status, const std::string& reason) {
    Json node = Node();
    node["status"]["conditions"] = {
        {{"type", kGpuHealthyCondition}, {"status", "True"}, {"reason", "NoFault"}},
        {{"type", kInfinibandHealthyCondition}, {"status", status}, {"reason", reason}}};
    EXPECT_TRUE(api_->UpdateStatus(kube::kNodes, node).ok());
  };
  report("False", "PortDown");
  EXPECT_EQ(Run(), 1);
  EXPECT_EQ(Taints(), "nvidia.com/gpu= muster.dev/unhealthy=PortDown ");
  report("Unknown", "NodeAgentSilent");
  EXPECT_EQ(Run(WaitAfterFaults(1)), 0) << "nobody can tell";
  report("True", "NoFault");
  EXPECT_EQ(Run(), 1);
  EXPECT_EQ(Run(WaitAfterFaults(1)), 1);
  EXPECT_EQ(Taints(), "nvidia.com/gpu= ");
}

TEST_F(NodeTainterTest, ANodeThatAnotherWriterWasFasterAtIsTaintedByTheNextRun) {
  kube::FaultyApi contended(*api_, {});
  NodeTainter tainter(contended, clock_, nodes_);
  Report("False", "FatalXid");
  nodes_.Upsert(Node(), ++version_);
  contended.FailNext(kube::Verb::kUpdate,
                     kube::ApiError(kube::Reason::kConflict, "the object has been modified"));
  EXPECT_EQ(tainter.RunOnce(), 0);
  EXPECT_EQ(tainter.RunOnce(), 1);
  EXPECT_EQ(Taints(), "nvidia.com/gpu= muster.dev/unhealthy=FatalXid ");
}

TEST_F(NodeTainterTest, ANewLeaderRemembersTheFaultsOfTheLast) {
  Report("False", "FatalXid");
  Run();
  Report("True", "NoFault");
  Run();
  Run(WaitAfterFaults(1));
  ASSERT_EQ(Taints(), "nvidia.com/gpu= ");
  tainter_ = std::make_unique<NodeTainter>(*api_, clock_, nodes_);
  Report("False", "GpuLost");
  EXPECT_EQ(Run(), 1);
  Report("True", "NoFault");
  Run();
  Run(WaitAfterFaults(1));
  EXPECT_EQ(Taints(), "nvidia.com/gpu= muster.dev/unhealthy=GpuLost ") << "the second waits longer";
  Run(WaitAfterFaults(2) - WaitAfterFaults(1));
  EXPECT_EQ(Taints(), "nvidia.com/gpu= ");
}

TEST_F(NodeTainterTest, ATaintedNodeIsReadAgainAfterAWhileOnly) {
  Report("False", "FatalXid");
  Run();
  Report("True", "NoFault");
  EXPECT_EQ(Run(absl::Seconds(2)), 0);
  EXPECT_EQ(Run(NodeTainter::kRetry), 1);
}

}  // namespace
}  // namespace muster::control
