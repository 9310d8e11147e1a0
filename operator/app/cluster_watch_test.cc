#include "operator/app/cluster_watch.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/testing/manual_clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "operator/kube/memory/memory_api.h"
#include "operator/kube/object_meta.h"
#include "operator/kube/resource_type.h"

namespace muster::control {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// A cluster of one node with a worker of the job "gpt".
class ClusterWatchTest : public testing::Test {
 protected:
  ClusterWatchTest() {
    kube::MemoryApiOptions options;
    options.random = [n = uint64_t{0}]() mutable { return ++n; };
    api_ = *kube::MemoryApi::Open(clock_, std::move(options));
    watch_ = std::make_unique<ClusterWatch>(*api_, clock_, ClusterWatch::Options{});
    ClusterWatch::Followers followers;
    followers.job = [this](const std::string& key) { woken_.push_back(key); };
    followers.placement = [] {};
    followers.storage = [](auto&&...) {};
    watch_->Follow(std::move(followers));
    PutNode(Json::object());
    Json pod = kube::NewObject(kube::kPods, {"default", "gpt-0-1"});
    kube::SetLabel(pod, "muster.dev/job", "gpt");
    pod["spec"]["nodeName"] = "n";
    watch_->pods().Upsert(pod, ++version_);
    woken_.clear();
  }

  void PutNode(const Json& change) {
    Json node = kube::NewObject(kube::kNodes, {"", "n"});
    node["status"]["conditions"] = {{{"type", "Ready"}, {"status", "True"}}};
    node.merge_patch(change);
    watch_->nodes().Upsert(node, ++version_);
  }

  ManualClock clock_;
  std::unique_ptr<kube::MemoryApi> api_;
  std::unique_ptr<ClusterWatch> watch_;
  std::vector<std::string> woken_;
  uint64_t version_ = 0;
};

// Such a job waits without a time limit: nothing else would tell it.
TEST_F(ClusterWatchTest, TheEndOfANodeWakesTheJobThatWaitsForIt) {
  watch_->nodes().Remove({"", "n"}, ++version_);
  EXPECT_THAT(woken_, ElementsAre("default/gpt"));
}

TEST_F(ClusterWatchTest, TheTaintOfANodeThatIsOffWakesTheJob) {
  PutNode(
      {{"spec",
        {{"taints", {{{"key", "node.kubernetes.io/out-of-service"}, {"effect", "NoExecute"}}}}}}});
  EXPECT_THAT(woken_, ElementsAre("default/gpt"));
}

TEST_F(ClusterWatchTest, AFaultOfANodeWakesTheJobAndAHeartbeatDoesNot) {
  PutNode({{"status", {{"heartbeat", 1}}}});
  EXPECT_THAT(woken_, IsEmpty());
  PutNode({{"status",
            {{"conditions",
              {{{"type", "Ready"}, {"status", "True"}},
               {{"type", "muster.dev/GPUHealthy"}, {"status", "False"}, {"reason", "x"}}}}}}});
  EXPECT_THAT(woken_, ElementsAre("default/gpt"));
}

}  // namespace
}  // namespace muster::control
