// Node agents on a real API server: the token of a pod names its node, and reports are written to a
// Node that the server keeps.
#include <memory>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "base/json.h"
#include "gtest/gtest.h"
#include "operator/coordinator/identity/token_reviewer.h"
#include "operator/coordinator/node_board.h"
#include "operator/kube/api.h"
#include "operator/kube/object_meta.h"
#include "operator/kube/resource_type.h"
#include "operator/nodes/authority_config.h"
#include "operator/nodes/node_agent_directory.h"
#include "operator/nodes/node_writer.h"
#include "tests/integration/cluster_node.h"

namespace muster::control {
namespace {

class SilentStream final : public AgentStream {
 public:
  absl::Status Send(EncodedMessage) override { return absl::OkStatus(); }
  void Close(const absl::Status&) override {}
};

class NodeAgentClusterTest : public ClusterNodeTest {
 protected:
  NodeAgentClusterTest() : ClusterNodeTest("nodes") {}
};

TEST_F(NodeAgentClusterTest, TheTokenOfAPodNamesItsNode) {
  kube::Api& api = cluster_->api();
  const std::string& ns = cluster_->name_space();
  const Json account = kube::NewObject(kube::kServiceAccounts, {ns, "muster-node-agent"});
  ASSERT_TRUE(api.Create(kube::kServiceAccounts, account, LongTimeout()).ok());
  Json pod = kube::NewObject(kube::kPods, {ns, "agent"});
  pod["spec"] = {{"serviceAccountName", "muster-node-agent"},
                 {"nodeName", name_},
                 {"containers", {{{"name", "agent"}, {"image", "none"}}}}};
  const absl::StatusOr<Json> stored = api.Create(kube::kPods, pod, LongTimeout());
  ASSERT_TRUE(stored.ok()) << stored.status();
  const Json request = {{"apiVersion", "authentication.k8s.io/v1"},
                        {"kind", "TokenRequest"},
                        {"spec",
                         {{"audiences", {kCoordinatorAudience}},
                          {"expirationSeconds", 600},
                          {"boundObjectRef",
                           {{"apiVersion", "v1"},
                            {"kind", "Pod"},
                            {"name", "agent"},
                            {"uid", kube::UidOf(*stored)}}}}}};
  const absl::StatusOr<Json> issued = api.CreateSubresource(
      kube::kServiceAccounts, {ns, "muster-node-agent"}, "token", request, LongTimeout());
  ASSERT_TRUE(issued.ok()) << issued.status();
  const auto reviewed = TokenReviewer(api).Review(kube::StringAt(*issued, {"status", "token"}));
  ASSERT_TRUE(reviewed.ok()) << reviewed.status();
  EXPECT_EQ(reviewed->node, name_);
  const PodCache nothing(ParsePodRecord);
  const auto node = FindNodeOfPod({ns, "muster-node-agent"}, nothing, *reviewed);
  ASSERT_TRUE(node.ok()) << node.status();
  ASSERT_TRUE(node->has_value());
  EXPECT_EQ((*node)->node, name_);
}

TEST_F(NodeAgentClusterTest, AReportIsWrittenToTheNode) {
  NodeBoard board(Clock::Real());
  board.SetLeader();
  v1alpha1::NodeHello hello;
  hello.set_node(name_);
  const uint64_t id = *board.Attach(hello, std::make_shared<SilentStream>());
  v1alpha1::AgentMessage message;
  auto& gpu = *message.mutable_node_report()->add_gpus();
  gpu.set_uuid("GPU-a");
  gpu.set_product("NVIDIA H100 80GB HBM3");
  gpu.add_faults()->set_reason("FatalXid");
  EXPECT_TRUE(board.Receive(id, message).ok());
  NodeCache nodes(ParseNodeRecord);
  nodes.Upsert(Node(), 1);
  NodeWriter writer(cluster_->api(), Clock::Real(), board, nodes);
  writer.Lead();
  // The control plane writes new nodes too, and may be faster in between.
  int writes = 0;
  for (int run = 0; run < 100 && writes < 2; ++run) writes += writer.RunOnce();
  EXPECT_EQ(writes, 2);
  const Json node = Node();
  EXPECT_EQ(kube::LabelOf(node, kGpuProductLabel), "NVIDIA-H100-80GB-HBM3");
  EXPECT_FALSE(kube::AnnotationOf(node, kHardwareAnnotation).empty());
  bool found = false;
  for (const Json& condition : node["status"]["conditions"]) {
    if (condition["type"] != kGpuHealthyCondition) continue;
    found = true;
    EXPECT_EQ(condition["status"], "False");
    EXPECT_EQ(condition["reason"], "FatalXid");
  }
  EXPECT_TRUE(found) << node["status"].dump();
  nodes.Upsert(node, 2);
  EXPECT_FALSE(nodes.Get({"", name_})->schedulable);
  EXPECT_EQ(writer.RunOnce(), 0);
}

TEST_F(NodeAgentClusterTest, TheAuthorityIsPublished) {
  const std::string& ns = cluster_->name_space();
  ASSERT_TRUE(PublishAuthority(cluster_->api(), ns, "first").ok());
  ASSERT_TRUE(PublishAuthority(cluster_->api(), ns, "second").ok());
  const auto config =
      cluster_->api().Get(kube::kConfigMaps, {ns, kAuthorityConfigMap}, LongTimeout());
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(kube::StringAt(*config, {"data", "ca.crt"}), "second");
}

}  // namespace
}  // namespace muster::control
