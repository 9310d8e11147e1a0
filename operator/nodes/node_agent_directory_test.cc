#include "operator/nodes/node_agent_directory.h"

#include <optional>
#include <string>

#include "gtest/gtest.h"
#include "operator/coordinator/identity/refusals.h"
#include "operator/kube/api.h"

namespace muster::control {
namespace {

const NodeAgentAccount kAccount{"muster-node-agents", "muster-node-agent"};

class NodeAgentDirectoryTest : public testing::Test {
 protected:
  void Know(const std::string& node) {
    pods_.Upsert(
        {{"metadata", {{"namespace", "muster-node-agents"}, {"name", "agent-x"}, {"uid", "u1"}}},
         {"spec", {{"nodeName", node}}}},
        1);
  }
  static ReviewedPod Pod(const std::string& node) {
    return {"muster-node-agents", "agent-x", "u1", "muster-node-agent", node};
  }

  PodCache pods_{ParsePodRecord};
};

TEST_F(NodeAgentDirectoryTest, TheTokenNamesTheNode) {
  const auto found = FindNodeOfPod(kAccount, pods_, Pod("gpu-7"));
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(**found, (NodeIdentity{"gpu-7", "muster-node-agents", "agent-x", "u1"}));
}

TEST_F(NodeAgentDirectoryTest, WithoutANodeInTheTokenThePodsOwnCounts) {
  EXPECT_EQ(FindNodeOfPod(kAccount, pods_, Pod("")).status().message(),
            "the node of pod muster-node-agents/agent-x is not known here yet");
  Know("gpu-7");
  const auto found = FindNodeOfPod(kAccount, pods_, Pod(""));
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ((*found)->node, "gpu-7");
}

TEST_F(NodeAgentDirectoryTest, APodOfTheSameNameBeforeOrAfterIsAnother) {
  Know("gpu-7");
  ReviewedPod other = Pod("");
  other.uid = "u2";
  EXPECT_TRUE(absl::IsUnavailable(FindNodeOfPod(kAccount, pods_, other).status()));
}

TEST_F(NodeAgentDirectoryTest, ATokenAgainstWhatThePodSaysIsRefused) {
  Know("gpu-8");
  const auto found = FindNodeOfPod(kAccount, pods_, Pod("gpu-7"));
  EXPECT_EQ(RefusalOf(found.status()), Refusal::kOtherNode);
}

TEST_F(NodeAgentDirectoryTest, AnotherAccountIsNoNodeAgent) {
  ReviewedPod pod = Pod("gpu-7");
  pod.service_account = "default";
  EXPECT_EQ(*FindNodeOfPod(kAccount, pods_, pod), std::nullopt);
  pod = Pod("gpu-7");
  pod.ns = "team";
  EXPECT_EQ(*FindNodeOfPod(kAccount, pods_, pod), std::nullopt);
  EXPECT_EQ(*FindNodeOfPod({}, pods_, Pod("gpu-7")), std::nullopt) << "none are wanted";
}

}  // namespace
}  // namespace muster::control
