#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/json.h"
#include "operator/kube/resource_type.h"
#include "tests/faults/faulty_api_world.h"

// Tests a CustomResourceDefinition that is older than the operator, and a missing one. Needs a
// control plane of its own, because tests on the shared one share one definition.

namespace muster::tests {
namespace {

class OlderCrd : public testing::Test {
 protected:
  void SetUp() override { world_ = FaultyApiWorld::Create().value(); }
  void TearDown() override {
    EXPECT_TRUE(world_->OperatorIsRunning());
    if (HasFailure()) ADD_FAILURE() << world_->OperatorLog();
  }
  // Removes a field of the status from the definition, as in an older version; the server then
  // drops it.
  void Forget(const std::string& field) {
    Json crd = world_->cluster().Get(kube::kCustomResourceDefinitions, kName).value();
    Json& schema = crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"];
    schema["properties"]["status"]["properties"].erase(field);
    crd["metadata"] = {{"name", kName}};
    crd.erase("status");
    ASSERT_EQ(world_->cluster().Apply(DumpJson(crd)), absl::OkStatus());
  }

  static constexpr char kName[] = "trainingjobs.muster.dev";
  std::unique_ptr<FaultyApiWorld> world_;
};

TEST_F(OlderCrd, WithoutAnInformativeFieldJobsAreServed) {
  Forget("state");
  ASSERT_EQ(world_->StartOperator(), absl::OkStatus());
  ASSERT_EQ(world_->ApplyJob("job", 2), absl::OkStatus());
  EXPECT_EQ(world_->WaitUntilServed("job", 2), absl::OkStatus());
}

TEST_F(OlderCrd, WithoutAFieldThatPodsNeedNothingIsCreated) {
  Forget("incarnations");
  ASSERT_EQ(world_->StartOperator(), absl::OkStatus());
  ASSERT_EQ(world_->ApplyJob("job", 2), absl::OkStatus());
  const std::string told =
      "False/StatusNotStored: the API server did not store status.incarnations: is the "
      "CustomResourceDefinition on the server older than this operator? "
      "apply deploy/crd/muster.dev_trainingjobs.yaml";
  EXPECT_EQ(world_->WaitFor("the job says so",
                            [&] { return world_->Condition("job", "Admitted") == told; }),
            absl::OkStatus());
  EXPECT_EQ(world_->WaitForLog("status not stored"), absl::OkStatus());
  EXPECT_EQ(world_->WaitForEvent("StatusNotStored", "status.incarnations"), absl::OkStatus());
  EXPECT_TRUE(world_->Pods("job").empty());
  EXPECT_LE(world_->MostRequestsInASecond(), FaultyApiWorld::kMaxRequestsPerSecond);
  ASSERT_EQ(world_->cluster().InstallCrd(), absl::OkStatus());
  // The operator retries when the job changes, and the server takes a while to serve a definition.
  int touched = 0;
  const auto has_pods = [&] {
    const std::string touch = absl::StrCat("touched=", ++touched);
    (void)world_->cluster().Kubectl({"annotate", "trainingjob", "job", "--overwrite", touch});
    return !world_->Pods("job").empty();
  };
  EXPECT_EQ(world_->WaitFor("the job has pods", has_pods), absl::OkStatus());
  EXPECT_EQ(world_->WaitUntilServed("job", 2), absl::OkStatus());
}

TEST_F(OlderCrd, AMissingDefinitionIsNamedAndAwaited) {
  const auto gone = world_->cluster().Kubectl({"delete", "crd", kName});
  ASSERT_TRUE(gone.ok() && gone->ok());
  ASSERT_EQ(world_->LaunchOperator(), absl::OkStatus());
  ASSERT_EQ(world_->WaitForLog("trainingjobs.muster.dev is not installed"), absl::OkStatus());
  EXPECT_LE(world_->MostRequestsInASecond(), FaultyApiWorld::kMaxRequestsPerSecond);
  ASSERT_EQ(world_->cluster().InstallCrd(), absl::OkStatus());
  ASSERT_EQ(world_->WaitForLog(" leading "), absl::OkStatus());
  ASSERT_EQ(world_->ApplyJob("job", 2), absl::OkStatus());
  EXPECT_EQ(world_->WaitUntilServed("job", 2), absl::OkStatus());
}

}  // namespace
}  // namespace muster::tests
