#include "tests/faults/api_proxy.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "base/json.h"
#include "tests/testenv/test_cluster.h"

// Tests the proxy itself, with kubectl as the client.

namespace muster::tests {
namespace {

class Proxy : public testing::Test {
 protected:
  void SetUp() override {
    cluster_ = TestCluster::Create("proxy").value();
    proxy_ = ApiProxy::Start(*cluster_).value();
  }
  CommandResult Kubectl(std::vector<std::string> arguments) {
    arguments.push_back("--kubeconfig=" + proxy_->kubeconfig());
    return cluster_->Kubectl(arguments).value();
  }

  std::unique_ptr<TestCluster> cluster_;
  std::unique_ptr<ApiProxy> proxy_;
};

TEST_F(Proxy, PassesEverythingWithoutRules) {
  EXPECT_TRUE(Kubectl({"create", "configmap", "a", "--from-literal=k=v"}).ok());
  EXPECT_EQ(Kubectl({"get", "configmap", "a", "-o", "jsonpath={.data.k}"}).out, "v");
}

TEST_F(Proxy, AnswersInTheServersPlace) {
  ASSERT_EQ(proxy_->SetRules(Json::parse(R"([{
      "name": "forbid", "method": "POST", "path": "/configmaps", "status": 403,
      "body": {"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "Forbidden",
               "message": "not you", "code": 403}}])")),
            absl::OkStatus());
  const CommandResult refused = Kubectl({"create", "configmap", "a"});
  EXPECT_FALSE(refused.ok());
  EXPECT_TRUE(absl::StrContains(refused.err, "not you")) << refused.err;
  const std::vector<ProxiedRequest> log = proxy_->Log().value();
  ASSERT_FALSE(log.empty());
  EXPECT_EQ(log.back().rule, "forbid");
  EXPECT_EQ(log.back().status, 403);
}

TEST_F(Proxy, HidesThatTheServerActed) {
  ASSERT_EQ(proxy_->SetRules(Json::parse(R"([{"method": "POST", "path": "/configmaps",
      "after_server": true, "status": 504, "times": 1}])")),
            absl::OkStatus());
  EXPECT_FALSE(Kubectl({"create", "configmap", "a"}).ok());
  EXPECT_TRUE(Kubectl({"get", "configmap", "a"}).ok());
}

TEST_F(Proxy, CutsInsideACharacter) {
  ASSERT_TRUE(Kubectl({"create", "configmap", "a", "--from-literal=k=gr\xc3\xbc"}).ok());
  ASSERT_EQ(
      proxy_->SetRules(Json::parse(R"([{"path": "/configmaps/a", "cut_in_character": true}])")),
      absl::OkStatus());
  EXPECT_FALSE(Kubectl({"get", "configmap", "a", "-o", "json"}).ok());
}

TEST_F(Proxy, ReplacesWordsOfAnotherLengthInWholeAnswersAndInWatches) {
  ASSERT_TRUE(Kubectl({"create", "configmap", "a", "--from-literal=k=short"}).ok());
  ASSERT_EQ(proxy_->SetRules(Json::parse(R"([{"path": "/configmaps",
      "replace": ["sh(o)rt", "a much longer w\\1rd"]}])")),
            absl::OkStatus());
  const std::vector<std::string> value = {"get", "configmap", "a", "-o", "jsonpath={.data.k}"};
  EXPECT_EQ(Kubectl(value).out, "a much longer word");
  const CommandResult watched =
      Kubectl({"wait", "configmap/a", "--for=jsonpath={.data.k}=a much longer word"});
  EXPECT_TRUE(watched.ok()) << watched.err;
}

TEST_F(Proxy, LogsARequestBeforeItIsAnswered) {
  ASSERT_EQ(
      proxy_->SetRules(Json::parse(R"([{"name": "late", "path": "/configmaps", "delay": 3600}])")),
      absl::OkStatus());
  EXPECT_FALSE(Kubectl({"get", "configmap", "a", "--request-timeout=1s"}).ok());
  const std::vector<ProxiedRequest> log = proxy_->Log().value();
  ASSERT_FALSE(log.empty());
  EXPECT_EQ(log.back().rule, "late");
  EXPECT_EQ(log.back().status, -1);
  EXPECT_TRUE(absl::StrContains(log.back().path, "/configmaps/a"));
}

TEST_F(Proxy, TwoOfOneProcessHaveTheirOwnKubeconfigs) {
  const auto other = ApiProxy::Start(*cluster_).value();
  EXPECT_NE(other->kubeconfig(), proxy_->kubeconfig());
  EXPECT_TRUE(Kubectl({"get", "configmaps"}).ok());
}

}  // namespace
}  // namespace muster::tests
