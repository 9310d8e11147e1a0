#include "operator/local/node_keeper.h"

#include <memory>
#include <string>
#include <utility>

#include "base/json.h"
#include "base/testing/manual_clock.h"
#include "gtest/gtest.h"
#include "operator/kube/memory/memory_api.h"
#include "operator/kube/object_meta.h"
#include "operator/kube/resource_type.h"
#include "operator/local/node_object.h"

namespace muster::control {
namespace {

class NodeKeeperTest : public testing::Test {
 protected:
  NodeKeeperTest() {
    kube::MemoryApiOptions options;
    options.random = [n = uint64_t{0}]() mutable { return ++n; };
    api_ = *kube::MemoryApi::Open(clock_, std::move(options));
    keeper_ = std::make_unique<NodeKeeper>(LocalNode{.name = "n", .gpus = 4}, NodeKeeperOptions{},
                                           *api_, clock_);
    EXPECT_TRUE(keeper_->RunOnce().ok());
  }
  Json Node() { return *api_->Get(kube::kNodes, {"", "n"}); }
  Json Lease() { return *api_->Get(kube::kLeases, {kNodeLeaseNamespace, "n"}); }
  static std::string Version(const Json& object) { return kube::ResourceVersionOf(object); }
  void Pass(absl::Duration time) {
    clock_.Advance(time);
    const absl::Status status = keeper_->RunOnce();
    EXPECT_TRUE(status.ok()) << status;
  }

  ManualClock clock_{absl::FromUnixSeconds(1'700'000'000)};
  std::unique_ptr<kube::MemoryApi> api_;
  std::unique_ptr<NodeKeeper> keeper_;
};

TEST_F(NodeKeeperTest, MakesNodeAndLease) {
  EXPECT_EQ(kube::StringAt(Node(), {"status", "capacity", "nvidia.com/gpu"}), "4");
  EXPECT_EQ(kube::LabelOf(Node(), "kubernetes.io/hostname"), "n");
  EXPECT_EQ(kube::StringAt(Lease(), {"spec", "holderIdentity"}), "n");
  EXPECT_EQ(Lease()["spec"]["leaseDurationSeconds"], 40);
  EXPECT_EQ(kube::OwnersOf(Lease())[0].uid, kube::UidOf(Node()));
}

TEST_F(NodeKeeperTest, WithoutChangesOnlyTheLeaseIsRenewed) {
  const std::string node = Version(Node());
  std::string lease = Version(Lease());
  for (int i = 0; i < 10; ++i) {
    Pass(absl::Seconds(10));
    EXPECT_NE(Version(Lease()), lease);
    lease = Version(Lease());
  }
  EXPECT_EQ(Version(Node()), node);
  Pass(absl::Seconds(9));
  EXPECT_EQ(Version(Lease()), lease) << "not due";
  Pass(absl::Minutes(5));
  EXPECT_NE(Version(Node()), node) << "once in five minutes all the same";
}

TEST_F(NodeKeeperTest, ANodeThatWasGivenUpIsReadyAgainAndKeepsWhatOthersWrote) {
  Json node = Node();
  for (Json& condition : node["status"]["conditions"]) condition["status"] = "Unknown";
  node["status"]["conditions"].push_back({{"type", "FrequentReboots"}, {"status", "False"}});
  node["status"]["images"] = Json::array();
  ASSERT_TRUE(api_->UpdateStatus(kube::kNodes, node).ok());
  Pass(absl::Seconds(10));
  EXPECT_EQ(Node()["status"]["conditions"][0]["status"], "True");
  EXPECT_EQ(Node()["status"]["conditions"][0]["lastTransitionTime"],
            kube::FormatTime(clock_.Wall()));
  EXPECT_EQ(Node()["status"]["conditions"][4]["type"], "FrequentReboots");
  EXPECT_TRUE(Node()["status"].contains("images"));
}

TEST_F(NodeKeeperTest, ADeletedNodeOrLeaseIsCreatedAgain) {
  ASSERT_TRUE(api_->Delete(kube::kLeases, {kNodeLeaseNamespace, "n"}).ok());
  Pass(absl::Seconds(10));
  EXPECT_EQ(kube::StringAt(Lease(), {"spec", "holderIdentity"}), "n");
  const std::string old_uid = kube::UidOf(Node());
  ASSERT_TRUE(api_->Delete(kube::kNodes, {"", "n"}).ok());
  Pass(absl::Seconds(10));
  EXPECT_NE(kube::UidOf(Node()), old_uid);
  EXPECT_EQ(kube::OwnersOf(Lease())[0].uid, kube::UidOf(Node()));
  EXPECT_EQ(kube::StringAt(Node(), {"status", "capacity", "nvidia.com/gpu"}), "4");
}

}  // namespace
}  // namespace muster::control
