#include "operator/nodes/node_agent_account.h"

#include "gtest/gtest.h"

namespace muster::control {
namespace {

TEST(NodeAgentAccountTest, IsANamespaceAndAName) {
  const auto account = ParseNodeAgentAccount("muster-node-agents/muster-node-agent");
  ASSERT_TRUE(account.ok());
  EXPECT_EQ(account->ns, "muster-node-agents");
  EXPECT_EQ(account->name, "muster-node-agent");
  for (const char* wrong : {"", "a", "/", "a/", "/b", "a/b/c", "A/b"}) {
    EXPECT_EQ(ParseNodeAgentAccount(wrong).status().message(), "wants NAMESPACE/SERVICEACCOUNT")
        << wrong;
  }
}

}  // namespace
}  // namespace muster::control
