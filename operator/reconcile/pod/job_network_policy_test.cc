#include "operator/reconcile/pod/job_network_policy.h"

#include <memory>
#include <random>

#include "base/testing/manual_clock.h"
#include "gtest/gtest.h"
#include "operator/kube/memory/memory_api.h"
#include "operator/kube/object_meta.h"
#include "operator/kube/resource_type.h"

namespace muster::control {
namespace {

class JobNetworkPolicyTest : public testing::Test {
 protected:
  JobNetworkPolicyTest() {
    kube::MemoryApiOptions options;
    options.random = [engine = std::mt19937_64(3)]() mutable { return engine(); };
    api_ = kube::MemoryApi::Open(clock_, std::move(options)).value();
    Json job = kube::NewObject(kube::kTrainingJobs, {"team", "gpt"});
    job["spec"] = {{"workers", {{"count", 1}}}};
    job_ = ParseTrainingJob(api_->Create(kube::kTrainingJobs, job).value()).value();
  }
  absl::Status Ensure() { return EnsureNetworkPolicy(*api_, job_, "muster-system"); }
  absl::StatusOr<Json> Stored() {
    return api_->Get(kube::kNetworkPolicies, {"team", "gpt-workers"});
  }

  ManualClock clock_;
  std::unique_ptr<kube::MemoryApi> api_;
  TrainingJob job_;
};

TEST_F(JobNetworkPolicyTest, AdmitsTheSameJobTheOperatorAndScrapersAndRestrictsNothingOutgoing) {
  ASSERT_TRUE(Ensure().ok());
  const auto stored = Stored();
  ASSERT_TRUE(stored.ok()) << stored.status();
  EXPECT_EQ((*stored)["spec"], *ParseJson(R"({
    "podSelector": {"matchLabels": {"muster.dev/job": "gpt"}},
    "policyTypes": ["Ingress"],
    "ingress": [
      {"from": [
        {"podSelector": {"matchLabels": {"muster.dev/job": "gpt"}}},
        {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "muster-system"}},
         "podSelector": {"matchLabels": {"app.kubernetes.io/name": "muster",
                                         "app.kubernetes.io/component": "operator"}}}]},
      {"ports": [{"port": "metrics", "protocol": "TCP"}]}]})"));
}

TEST_F(JobNetworkPolicyTest, IsWrittenOnlyWhenItDiffers) {
  ASSERT_TRUE(Ensure().ok());
  const std::string first = kube::ResourceVersionOf(*Stored());
  ASSERT_TRUE(Ensure().ok());
  EXPECT_EQ(kube::ResourceVersionOf(*Stored()), first);
  Json open = *Stored();
  open["spec"]["ingress"] = Json::array({Json::object()});
  ASSERT_TRUE(api_->Update(kube::kNetworkPolicies, open).ok());
  ASSERT_TRUE(Ensure().ok());
  EXPECT_EQ((*Stored())["spec"], JobNetworkPolicy(job_, "muster-system")["spec"]);
}

TEST_F(JobNetworkPolicyTest, GoesWithItsJob) {
  ASSERT_TRUE(Ensure().ok());
  ASSERT_TRUE(api_->Delete(kube::kTrainingJobs, {"team", "gpt"}).ok());
  EXPECT_TRUE(absl::IsNotFound(Stored().status()));
}

TEST_F(JobNetworkPolicyTest, SomebodyElsesPolicyOfThatNameIsLeftAlone) {
  Json theirs = JobNetworkPolicy(job_, "elsewhere");
  theirs["metadata"].erase("ownerReferences");
  ASSERT_TRUE(api_->Create(kube::kNetworkPolicies, theirs).ok());
  const absl::Status status = Ensure();
  EXPECT_TRUE(absl::IsAlreadyExists(status));
  EXPECT_EQ(status.message(),
            "write network policy gpt-workers: it exists and belongs to another owner");
  EXPECT_EQ((*Stored())["spec"], theirs["spec"]);
}

}  // namespace
}  // namespace muster::control
