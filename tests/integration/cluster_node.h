#ifndef MUSTER_TESTS_INTEGRATION_CLUSTER_NODE_H_
#define MUSTER_TESTS_INTEGRATION_CLUSTER_NODE_H_

#include <memory>
#include <string>
#include <utility>

#include "absl/time/time.h"
#include "base/json.h"
#include "gtest/gtest.h"
#include "operator/kube/api.h"
#include "operator/kube/object_meta.h"
#include "operator/kube/resource_type.h"
#include "tests/testenv/test_cluster.h"

namespace muster::control {

// A test with a Node of its own on a real API server.
class ClusterNodeTest : public testing::Test {
 protected:
  // `prefix` is that of the test's namespace, `spec` the Node's.
  explicit ClusterNodeTest(std::string prefix, Json spec = Json::object())
      : prefix_(std::move(prefix)), spec_(std::move(spec)) {}

  // Generous, because a server on a busy machine is slow.
  static kube::CallOptions LongTimeout() { return {.timeout = absl::Minutes(3)}; }

  void SetUp() override {
    auto cluster = tests::TestCluster::Create(prefix_);
    ASSERT_TRUE(cluster.ok()) << cluster.status();
    cluster_ = *std::move(cluster);
    name_ = cluster_->Unique("gpu");
    Json node = kube::NewObject(kube::kNodes, {"", name_});
    node["spec"] = spec_;
    const auto made = cluster_->api().Create(kube::kNodes, node, LongTimeout());
    ASSERT_TRUE(made.ok()) << made.status();
  }
  void TearDown() override {
    if (cluster_ == nullptr) return;
    cluster_->api().Delete(kube::kNodes, {"", name_}, {}, LongTimeout()).IgnoreError();
  }
  Json Node() const { return *cluster_->api().Get(kube::kNodes, {"", name_}, LongTimeout()); }

  std::unique_ptr<tests::TestCluster> cluster_;
  std::string name_;

 private:
  const std::string prefix_;
  const Json spec_;
};

}  // namespace muster::control

#endif  // MUSTER_TESTS_INTEGRATION_CLUSTER_NODE_H_
