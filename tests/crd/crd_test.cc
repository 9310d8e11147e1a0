#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "base/json.h"
#include "operator/api/codec.h"
#include "operator/api/defaults.h"
#include "operator/api/manifest.h"
#include "operator/kube/resource_type.h"
#include "tests/crd/refused_manifests.h"
#include "tests/testenv/test_cluster.h"

// Tests the CustomResourceDefinition on a real API server: what it refuses and with which messages,
// the defaults that it fills in, and that it agrees with the local validation.

namespace muster::control {
namespace {

using tests::ExpectRefused;
using tests::Manifests;
using tests::ReadText;
using tests::TestNameOf;

tests::TestCluster& Cluster() {
  static tests::TestCluster* const cluster = [] {
    auto made = tests::TestCluster::Create("crd").value();
    EXPECT_EQ(made->InstallCrd(), absl::OkStatus());
    return made.release();
  }();
  return *cluster;
}

tests::CommandResult Kubectl(const std::vector<std::string>& arguments) {
  return Cluster().Kubectl(arguments).value();
}

TEST(Crd, IsEstablishedAndStructural) {
  const Json crd =
      Cluster().Get(kube::kCustomResourceDefinitions, "trainingjobs.muster.dev").value();
  const Json& conditions = crd["status"]["conditions"];
  for (const Json& condition : conditions) {
    const std::string type = condition.value("type", "");
    EXPECT_NE(type, "NonStructuralSchema");
    if (type == "Established" || type == "NamesAccepted") {
      EXPECT_EQ(condition["status"], "True") << type;
    }
  }
}

class RefusedManifest : public testing::TestWithParam<std::string> {};

TEST_P(RefusedManifest, IsRefusedByTheServerAndLocally) {
  ExpectRefused(Kubectl({"create", "--dry-run=server", "--validate=strict", "-f", GetParam()}),
                GetParam());
  EXPECT_FALSE(ParseManifest(ReadText(GetParam())).ok());
}

class FrozenField : public testing::TestWithParam<std::string> {};

TEST_P(FrozenField, MustNotChange) {
  const tests::CommandResult applied =
      Kubectl({"apply", "-f", std::filesystem::absolute("tests/crd/good.yaml")});
  ASSERT_TRUE(applied.ok()) << applied.err;
  ExpectRefused(Kubectl({"apply", "--dry-run=server", "-f", GetParam()}), GetParam());
}

class GoodManifest : public testing::TestWithParam<std::string> {};

// Both come from one source, so the server's defaults equal the local ones.
TEST_P(GoodManifest, GetsTheSameDefaultsFromBoth) {
  const tests::CommandResult applied =
      Kubectl({"create", "--dry-run=server", "--validate=strict", "-o", "json", "-f", GetParam()});
  ASSERT_TRUE(applied.ok()) << applied.err;
  const ManifestResult local = ParseManifest(ReadText(GetParam()));
  ASSERT_TRUE(local.ok()) << FormatErrors(GetParam(), local.errors);
  v1alpha1::TrainingJobSpec spec = local.job.spec;
  DefaultFromSchema(spec);
  const Json server = ParseJson(applied.out).value()["spec"];
  // Compares values, not text: the server writes 1.0 as 1.
  EXPECT_TRUE(server == EncodeMessage(spec)) << DumpJson(server);
}

INSTANTIATE_TEST_SUITE_P(Crd, RefusedManifest, testing::ValuesIn(Manifests("tests/crd/refused")),
                         TestNameOf);
INSTANTIATE_TEST_SUITE_P(Crd, FrozenField, testing::ValuesIn(Manifests("tests/crd/frozen")),
                         TestNameOf);
INSTANTIATE_TEST_SUITE_P(Crd, GoodManifest, testing::ValuesIn(Manifests("examples")), TestNameOf);
INSTANTIATE_TEST_SUITE_P(CrdOnClusters, GoodManifest,
                         testing::ValuesIn(Manifests("examples/cluster")), TestNameOf);

TEST(Crd, ThereAreEnoughRefusedManifests) { EXPECT_GE(Manifests("tests/crd/refused").size(), 60u); }

}  // namespace
}  // namespace muster::control
