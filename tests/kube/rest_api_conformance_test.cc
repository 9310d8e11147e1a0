#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "base/json.h"
#include "gtest/gtest.h"
#include "httplib.h"
#include "operator/kube/conformance.h"
#include "operator/kube/kubeconfig.h"
#include "operator/kube/object_meta.h"
#include "operator/kube/resource_type.h"
#include "operator/kube/rest_api.h"
#include "tests/testenv/test_cluster.h"

// The conformance suite on a real control plane, which it has for itself because it restarts the
// API server.
namespace muster::kube {
namespace {

// What all cases share: one client, and namespaces made a little ahead of their use.
class RealServer {
 public:
  static RealServer& Get() {
    static RealServer& server = *new RealServer;
    return server;
  }
  Api& api() { return *api_; }
  tests::TestCluster& cluster() { return *cluster_; }

  std::string Namespace() {
    while (ahead_.size() < 4) {
      ahead_.push_back(absl::StrCat("conformance-", Unique()));
      const Json made = NewObject(kNamespaces, {"", ahead_.back()});
      EXPECT_TRUE(api_->Create(kNamespaces, made).ok());
    }
    const std::string name = ahead_.front();
    ahead_.pop_front();
    // Without it no pod is admitted.
    const absl::Time deadline = absl::Now() + absl::Seconds(30);
    while (!api_->Get(kServiceAccounts, {name, "default"}).ok()) {
      if (absl::Now() > deadline) ADD_FAILURE() << name << " has no service account";
      if (absl::Now() > deadline) break;
      absl::SleepFor(absl::Milliseconds(20));
    }
    return name;
  }
  // etcd forgets what is older than now, and a new API server has seen nothing of it.
  bool ExpireHistory() {
    const auto now = api_->List(kConfigMaps, {.name_space = cluster_->name_space()});
    if (!now.ok()) return false;
    httplib::Client etcd("127.0.0.1", 2379);
    const std::string body = absl::StrCat(R"({"revision":")", now->resource_version, R"("})");
    const auto answer = etcd.Post("/v3/kv/compaction", body, "application/json");
    if (!answer || answer->status != 200) return false;
    return cluster_->Kill("kube-apiserver").ok() && cluster_->Start("kube-apiserver").ok();
  }
  std::string Unique() { return cluster_->Unique(absl::StrCat("c", ++names_)); }
  void Finish() {
    for (const std::string& name : ahead_) api_->Delete(kNamespaces, {"", name}).IgnoreError();
    ahead_.clear();
    api_.reset();
    cluster_.reset();
  }

 private:
  RealServer() {
    cluster_ = *tests::TestCluster::Create("conformance");
    EXPECT_TRUE(cluster_->InstallCrd().ok());
    api_ = *RestApi::Create(*LoadKubeconfig({cluster_->kubeconfig()}));
  }

  std::unique_ptr<tests::TestCluster> cluster_;
  std::unique_ptr<RestApi> api_;
  std::deque<std::string> ahead_;
  int names_ = 0;
};

class RealEnvironment : public ConformanceEnvironment {
 public:
  ~RealEnvironment() override {
    for (const std::string& name : namespaces_) {
      api().Delete(kNamespaces, {"", name}).IgnoreError();
    }
  }
  Api& api() override { return RealServer::Get().api(); }
  std::string Namespace() override {
    namespaces_.push_back(RealServer::Get().Namespace());
    return namespaces_.back();
  }
  std::string Unique() override { return RealServer::Get().Unique(); }
  bool Wait() override {
    absl::SleepFor(absl::Milliseconds(50));
    return absl::Now() < deadline_;
  }
  absl::Duration Patience() const override { return absl::Seconds(10); }
  bool ExpireHistory() override { return RealServer::Get().ExpireHistory(); }
  bool ForceBookmark() override { return false; }

 private:
  const absl::Time deadline_ = absl::Now() + absl::Seconds(60);
  std::vector<std::string> namespaces_;
};

INSTANTIATE_TEST_SUITE_P(RestApi, ConformanceTest,
                         testing::Values(ConformanceParam{
                             "Real", [] { return std::make_unique<RealEnvironment>(); }}),
                         [](const auto& info) { return info.param.name; });

class Cleanup : public testing::Environment {
  void TearDown() override { RealServer::Get().Finish(); }
};
testing::Environment* const kCleanup = testing::AddGlobalTestEnvironment(new Cleanup);

}  // namespace
}  // namespace muster::kube
