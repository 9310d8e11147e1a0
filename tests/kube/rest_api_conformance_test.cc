#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "base/json.h"
#include "base/testing/patience.h"
#include "gtest/gtest.h"
#include "httplib.h"
#include "operator/kube/api_error.h"
#include "operator/kube/conformance/conformance.h"
#include "operator/kube/credentials/kubeconfig.h"
#include "operator/kube/credentials/rest_config.h"
#include "operator/kube/object_meta.h"
#include "operator/kube/resource_type.h"
#include "operator/kube/rest/rest_api.h"
#include "tests/testenv/test_cluster.h"

// Runs the conformance suite on a private control plane, because it restarts the API server.
namespace muster::kube {
namespace {

// State shared by all cases: one client, and namespaces created a little ahead of their use.
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
    // No pod is admitted before the default service account exists.
    const absl::Time deadline = absl::Now() + absl::Minutes(3);
    while (!api_->Get(kServiceAccounts, {name, "default"}).ok()) {
      if (absl::Now() > deadline) ADD_FAILURE() << name << " has no service account";
      if (absl::Now() > deadline) break;
      absl::SleepFor(absl::Milliseconds(20));
    }
    return name;
  }
  // Compacts etcd to the present revision and restarts the API server, whose watch cache then holds
  // no older history either.
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
    const absl::Status installed = cluster_->InstallCrd();
    EXPECT_TRUE(installed.ok()) << installed;
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
  absl::Duration Patience() const override { return kPatience; }
  bool ExpireHistory() override { return RealServer::Get().ExpireHistory(); }
  bool ForceBookmark() override { return false; }

 private:
  const absl::Time deadline_ = absl::Now() + kPatience;
  std::vector<std::string> namespaces_;
};

INSTANTIATE_TEST_SUITE_P(RestApi, ConformanceTest,
                         testing::Values(ConformanceParam{
                             "Real", [] { return std::make_unique<RealEnvironment>(); }}),
                         [](const auto& info) { return info.param.name; });

// A client that gives up a silent watch after 3 s.
std::unique_ptr<RestApi> ImpatientClient() {
  RestConfig config = *LoadKubeconfig({RealServer::Get().cluster().kubeconfig()});
  config.watch_silence = absl::Seconds(3);
  return *RestApi::Create(config);
}

// Reads the watch to its end and returns the status, skipping all events.
absl::Status EndOf(Watcher& watcher) {
  while (true) {
    const auto event = watcher.Next(kPatience);
    if (!event.ok()) return event.status();
    if (!event->has_value()) return absl::OkStatus();
  }
}

TEST(RestApiOutageTest, AFrozenServerIsNoticedByCallsAndWatches) {
  tests::TestCluster& cluster = RealServer::Get().cluster();
  const std::unique_ptr<RestApi> api = ImpatientClient();
  const WatchOptions options{.name_space = cluster.name_space()};
  const auto watcher = api->Watch(kSecrets, options);
  ASSERT_TRUE(watcher.ok()) << watcher.status();
  const ObjectKey key{cluster.name_space(), "absent"};
  ASSERT_EQ(ReasonOf(api->Get(kSecrets, key).status()), Reason::kNotFound);  // opens the connection
  ASSERT_TRUE(cluster.Freeze("kube-apiserver").ok());
  const absl::Status call = api->Get(kSecrets, key, {.timeout = absl::Seconds(1)}).status();
  EXPECT_EQ(ReasonOf(call), Reason::kTimeout) << call;
  const absl::Status watch = EndOf(**watcher);
  EXPECT_EQ(ReasonOf(watch), Reason::kServiceUnavailable) << watch;
  ASSERT_TRUE(cluster.Thaw("kube-apiserver").ok());
  EXPECT_TRUE(api->Watch(kSecrets, options, {.timeout = absl::Seconds(30)}).ok());
}

TEST(RestApiOutageTest, AClientOutlivesItsServersDeath) {
  tests::TestCluster& cluster = RealServer::Get().cluster();
  const std::unique_ptr<RestApi> api = ImpatientClient();
  const ObjectKey key{cluster.name_space(), "absent"};
  const auto watcher = api->Watch(kSecrets, {.name_space = cluster.name_space()});
  ASSERT_TRUE(watcher.ok()) << watcher.status();
  ASSERT_TRUE(cluster.Kill("kube-apiserver").ok());
  EXPECT_EQ(EndOf(**watcher).code(), absl::StatusCode::kUnavailable);
  const absl::Status refused = api->Create(kSecrets, NewObject(kSecrets, key)).status();
  EXPECT_EQ(ReasonOf(refused), Reason::kServiceUnavailable) << refused;  // it was never sent
  ASSERT_TRUE(cluster.Start("kube-apiserver").ok());
  EXPECT_EQ(ReasonOf(api->Get(kSecrets, key, {.timeout = absl::Seconds(30)}).status()),
            Reason::kNotFound);
}

class Cleanup : public testing::Environment {
  void TearDown() override { RealServer::Get().Finish(); }
};
testing::Environment* const kCleanup = testing::AddGlobalTestEnvironment(new Cleanup);

}  // namespace
}  // namespace muster::kube
