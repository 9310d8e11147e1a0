#include "operator/coordinator/identity/node_identity.h"

#include <string>

#include "gtest/gtest.h"

namespace muster::control {
namespace {

const NodeIdentity kNode{"gpu-7.rack-2", "muster-node-agents", "muster-node-agent-x1", "u-1"};

TEST(NodeIdentityTest, AUriNamesTheNodeAndThePod) {
  EXPECT_EQ(ToUri(kNode),
            "spiffe://muster/node/gpu-7.rack-2/pod/muster-node-agents/muster-node-agent-x1/u-1");
  EXPECT_TRUE(IsNodeUri(ToUri(kNode)));
  const auto read = ParseNodeUri(ToUri(kNode));
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(*read, kNode);
}

TEST(NodeIdentityTest, AnyOtherTextIsRefusedWithTheFormThatWasExpected) {
  for (const std::string& wrong :
       {std::string(), std::string("spiffe://muster/node/"),
        std::string("spiffe://muster/node/a/pod/b/c"),
        std::string("spiffe://muster/node/a/pod/b/c/d/e"),
        std::string("spiffe://muster/node/a/job/b/c/d"),
        std::string("spiffe://muster/node//pod/b/c/d"),
        std::string("spiffe://muster/node/a%2f/pod/b/c/d"),
        std::string("spiffe://muster/ns/a/job/b/c/worker/0/1/pod/d/e"),
        "spiffe://muster/node/" + std::string(3000, 'a') + "/pod/b/c/d"}) {
    const auto read = ParseNodeUri(wrong);
    EXPECT_EQ(read.status().code(), absl::StatusCode::kInvalidArgument) << wrong;
    EXPECT_NE(std::string(read.status().message()).find("expected spiffe://muster/node/NODE/pod/"),
              std::string::npos);
  }
}

}  // namespace
}  // namespace muster::control
