#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/exit_codes.h"
#include "tests/testenv/test_cluster.h"

// Tests how muster-operator exits when it cannot start.

namespace muster::tests {
namespace {

TEST(OperatorStart, AServerThatCannotBeReachedIsNamedAndIsWorthTryingAgain) {
  const std::string kubeconfig = absl::StrCat(testing::TempDir(), "/unreachable.kubeconfig");
  std::ofstream(kubeconfig) << R"(apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: "https://127.0.0.1:1"}}]
users: [{name: u, user: {token: x}}]
contexts: [{name: x, context: {cluster: c, user: u}}]
current-context: x
)";
  const absl::StatusOr<CommandResult> end =
      TestCluster::Run({std::filesystem::absolute("operator/muster-operator"),
                        absl::StrCat("--kubeconfig=", kubeconfig), "--coordinator=127.0.0.1:0",
                        "--advertise=127.0.0.1:7443", "--http=127.0.0.1:0", "--probes="});
  ASSERT_TRUE(end.ok()) << end.status();
  EXPECT_EQ(end->exit.code, kExitFailed) << end->err;
  EXPECT_TRUE(absl::StrContains(end->err, "https://127.0.0.1:1: it cannot be reached")) << end->err;
}

TEST(OperatorStart, ABadTableOfPricesIsRefusedWithItsFileLineAndField) {
  const std::string prices = absl::StrCat(testing::TempDir(), "/prices.yaml");
  std::ofstream(prices) << "currency: USD\nprices:\n- {instanceType: big, perHour: cheap}\n";
  const absl::StatusOr<CommandResult> end = TestCluster::Run(
      {std::filesystem::absolute("operator/muster-operator"),
       absl::StrCat("--state-dir=", testing::TempDir(), "/state"), "--prices=" + prices});
  ASSERT_TRUE(end.ok()) << end.status();
  EXPECT_EQ(end->exit.code, kExitBadInput) << end->err;
  EXPECT_TRUE(absl::StrContains(end->err, prices + ": line 3: prices[0].perHour: want a number"))
      << end->err;
}

}  // namespace
}  // namespace muster::tests
