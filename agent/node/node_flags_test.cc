#include "agent/node/node_flags.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/testing/generated_document.h"
#include "gtest/gtest.h"

namespace muster::agent {
namespace {

std::string Nothing(const std::string&) { return ""; }

TEST(NodeFlagsTest, DefaultsComeFromTheEnvironmentAndAreOverruled) {
  const auto environment = [](const std::string& name) -> std::string {
    if (name == "NODE_NAME") return "gpu-7";
    if (name == "POD_UID") return "u1";
    return name == "MUSTER_COORDINATOR" ? "unix:/run/c.sock" : "";
  };
  auto flags = ParseNodeAgentFlags({}, environment);
  ASSERT_TRUE(flags.ok()) << flags.status();
  EXPECT_EQ(flags->node, "gpu-7");
  EXPECT_EQ(flags->pod_uid, "u1");
  EXPECT_EQ(flags->coordinators, std::vector<std::string>{"unix:/run/c.sock"});
  EXPECT_EQ(flags->sys, "/sys");
  EXPECT_EQ(flags->metrics, "127.0.0.1:9402") << "open to no other machine";
  EXPECT_EQ(flags->probes, "");
  EXPECT_EQ(flags->period, absl::Seconds(10));
  flags = ParseNodeAgentFlags({"--node=a", "--period=1m", "--log-format=json", "--ibnetdiscover="},
                              environment);
  ASSERT_TRUE(flags.ok()) << flags.status();
  EXPECT_EQ(flags->node, "a");
  EXPECT_EQ(flags->period, absl::Minutes(1));
  EXPECT_TRUE(flags->log_json);
  EXPECT_EQ(flags->ibnetdiscover, "");
}

TEST(NodeFlagsTest, EveryWrongFlagIsReported) {
  EXPECT_EQ(
      ParseNodeAgentFlags({"--period=10", "-x", "--frequency=1s", "--log-format=xml"}, Nothing)
          .status()
          .message(),
      "--period=10: wants a duration of at least 1s\n"
      "-x: flags are --NAME=VALUE\n"
      "--frequency: no such flag\n"
      "--log-format=xml: wants text or json\n"
      "--node: is missing, and NODE_NAME is not set\n"
      "--coordinator: is missing");
}

TEST(NodeFlagsTest, NoticesComeFromAKnownCloudOverPlainHttp) {
  EXPECT_EQ(ParseNodeAgentFlags({"--node=a", "--coordinator=unix:/x", "--notices=gcp",
                                 "--notices-address=169.254.169.254", "--notices-period=10ms"},
                                Nothing)
                .status()
                .message(),
            "--notices=gcp: wants auto, aws, google, azure or off\n"
            "--notices-address=169.254.169.254: wants http://HOST or http://HOST:PORT\n"
            "--notices-period=10ms: wants a duration of at least 1s");
  const auto flags = ParseNodeAgentFlags(
      {"--node=a", "--coordinator=unix:/x", "--notices=off", "--notices-address=http://h:1"},
      Nothing);
  ASSERT_TRUE(flags.ok()) << flags.status();
  EXPECT_EQ(flags->notices, "off");
  EXPECT_EQ(flags->notices_address, "http://h:1");
}

TEST(NodeFlagsTest, ACoordinatorOnAnotherHostNeedsAnIdentity) {
  EXPECT_EQ(ParseNodeAgentFlags({"--node=a", "--coordinator=h:1"}, Nothing).status().message(),
            "--coordinator: one on another host needs --coordinator-ca and --coordinator-token");
  EXPECT_EQ(
      ParseNodeAgentFlags({"--node=a", "--coordinator=h:1,unix:/x"}, Nothing).status().message(),
      "--coordinator: wants unix sockets or addresses of hosts, not both");
  EXPECT_TRUE(ParseNodeAgentFlags({"--node=a", "--coordinator=h:1,g:1", "--coordinator-ca=/ca",
                                   "--coordinator-token=/token"},
                                  Nothing)
                  .ok());
}

// Under `bazel run`, as tools/generate calls it, this test writes the table.
TEST(NodeFlagsTest, TheDocumentHasEveryFlag) {
  std::string table = "| flag | variable | meaning |\n|---|---|---|\n";
  for (const NodeAgentFlag& flag : NodeAgentFlagTable()) {
    const std::string variable =
        *flag.variable == '\0' ? "" : absl::StrCat("`$", flag.variable, "`");
    absl::StrAppend(&table, "| `--", flag.name, "` | ", variable, " | ", flag.help, " |\n");
  }
  CheckDocument("docs/node-agent.md", {{"flags", table}});
}

TEST(NodeFlagsTest, TheTableHasEveryFlag) {
  for (const NodeAgentFlag& flag : NodeAgentFlagTable()) {
    const auto flags = ParseNodeAgentFlags({std::string("--") + flag.name + "=1"}, Nothing);
    EXPECT_EQ(std::string(flags.status().message()).find("no such flag"), std::string::npos)
        << flag.name;
    EXPECT_NE(std::string(flag.help), "");
  }
}

}  // namespace
}  // namespace muster::agent
