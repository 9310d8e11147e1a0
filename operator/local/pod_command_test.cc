#include "operator/local/pod_command.h"

#include "base/json.h"
#include "gtest/gtest.h"

namespace muster::control {
namespace {

Json Pod(const std::string& container) {
  return *ParseJson(R"({"metadata":{"name":"gpt-0-1","namespace":"default","uid":"u-1",)"
                    R"("labels":{"muster.dev/index":"0"}},)"
                    R"("spec":{"nodeName":"local","containers":[{"name":"sidecar"},)" +
                    container + "]}}");
}

const ImagePrograms& Programs() {
  static const auto* const programs = new ImagePrograms{{"muster-agent", "/opt/agent"}};
  return *programs;
}

TEST(PodCommandTest, ResolvesProgramArgumentsEnvironmentAndFolder) {
  const auto command = CommandOf(Pod(R"j({
    "name": "worker", "command": ["/usr/bin/muster-agent", "worker"], "args": ["--x=$(B)"],
    "workingDir": "/data",
    "env": [
      {"name": "A", "value": "1"},
      {"name": "B", "value": "$(A)$(BASE)"},
      {"name": "POD", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
      {"name": "UID", "valueFrom": {"fieldRef": {"fieldPath": "metadata.uid"}}},
      {"name": "IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}},
      {"name": "I", "valueFrom": {"fieldRef": {"fieldPath": "metadata.labels['muster.dev/index']"}}},
      {"name": "S", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k", "optional": true}}}]})j"),
                                 {{"BASE", "0"}, {"A", "old"}}, Programs());
  ASSERT_TRUE(command.ok()) << command.status();
  EXPECT_EQ(command->argv, (std::vector<std::string>{"/opt/agent", "worker", "--x=10"}));
  EXPECT_EQ(command->cwd, "/data");
  const Environment expected = {{"BASE", "0"},      {"A", "1"},     {"B", "10"},
                                {"POD", "gpt-0-1"}, {"UID", "u-1"}, {"IP", "127.0.0.1"},
                                {"I", "0"}};
  EXPECT_EQ(command->env, expected);
}

TEST(PodCommandTest, WithoutACommandTheImagesProgramRuns) {
  const auto command =
      CommandOf(Pod(R"({"name":"worker","image":"ghcr.io/x/muster-agent:v1","args":["worker"]})"),
                {}, Programs());
  ASSERT_TRUE(command.ok());
  EXPECT_EQ(command->argv, (std::vector<std::string>{"/opt/agent", "worker"}));
}

TEST(PodCommandTest, SaysWhatCannotRunHere) {
  const auto message = [](const std::string& container) {
    return std::string(CommandOf(Pod(container), {}, Programs()).status().message());
  };
  EXPECT_EQ(message(R"({"name":"other"})"), "spec.containers: there is none named worker");
  EXPECT_EQ(message(R"({"name":"worker","image":"python:3"})"),
            "containers[worker].command: images cannot be run here, so a command is needed");
  EXPECT_EQ(message(R"({"name":"worker","command":["x"],"env":[{"name":"S","valueFrom":)"
                    R"({"secretKeyRef":{"name":"s","key":"k"}}}]})"),
            "containers[worker].env[S]: only value and fieldRef exist without a cluster");
  // Regression: the variables were empty, and the command ran.
  EXPECT_EQ(message(R"({"name":"worker","command":["x"],"envFrom":[{"secretRef":{"name":"s"}}]})"),
            "containers[worker].envFrom[0]: only env with value and fieldRef exists without a "
            "cluster");
  EXPECT_EQ(message(R"({"name":"worker","command":["x"],"envFrom":[)"
                    R"({"configMapRef":{"name":"s","optional":true}}]})"),
            "");
}

}  // namespace
}  // namespace muster::control
