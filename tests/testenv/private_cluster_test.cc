// Tests a private control plane whose components are stopped and started.

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "operator/kube/resource_type.h"
#include "tests/testenv/test_cluster.h"

namespace muster::tests {
namespace {

class PrivateClusterTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto cluster = TestCluster::Create("private");
    ASSERT_TRUE(cluster.ok()) << cluster.status();
    cluster_ = *std::move(cluster);
  }

  // Returns true if a request with a timeout of two seconds is answered.
  bool Answers() {
    const auto got = cluster_->Kubectl({"get", "configmaps", "--request-timeout=2s"});
    return got.ok() && got->ok();
  }

  std::unique_ptr<TestCluster> cluster_;
};

TEST_F(PrivateClusterTest, AKilledServerComesBackWithItsData) {
  EXPECT_TRUE(cluster_->is_private());
  const auto made = cluster_->Kubectl({"create", "configmap", "kept", "--from-literal=a=b"});
  ASSERT_TRUE(made.ok() && made->ok()) << made->err;
  for (const std::string component : {"kube-apiserver", "etcd"}) {
    const absl::Status killed = cluster_->Kill(component);
    ASSERT_TRUE(killed.ok()) << killed;
    EXPECT_FALSE(Answers()) << component;
    const absl::Status started = cluster_->Start(component);
    ASSERT_TRUE(started.ok()) << started;
    const auto kept = cluster_->Get(kube::kConfigMaps, "kept");
    ASSERT_TRUE(kept.ok()) << component << ": " << kept.status();
    EXPECT_EQ((*kept)["data"]["a"], "b");
  }
}

TEST_F(PrivateClusterTest, AFrozenServerAnswersOnceThawed) {
  ASSERT_TRUE(cluster_->Freeze("kube-apiserver").ok());
  EXPECT_FALSE(Answers());
  ASSERT_TRUE(cluster_->Thaw("kube-apiserver").ok());
  EXPECT_TRUE(Answers());
}

TEST_F(PrivateClusterTest, AComponentThatWasLeftOutCanBeStarted) {
  EXPECT_FALSE(cluster_->Freeze("kube-controller-manager").ok());
  const absl::Status started = cluster_->Start("kube-controller-manager");
  ASSERT_TRUE(started.ok()) << started;
  EXPECT_TRUE(cluster_->api().Get(kube::kServiceAccounts, {"default", "default"}).ok());
  EXPECT_EQ(cluster_->Start("kubelet").code(), absl::StatusCode::kInternal);
}

}  // namespace
}  // namespace muster::tests
