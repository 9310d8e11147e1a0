#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/json.h"
#include "operator/api/codec.h"
#include "operator/api/defaults.h"
#include "operator/api/manifest.h"
#include "tests/testenv/test_cluster.h"

// The CustomResourceDefinition on a real API server: what it refuses, in which words, what it fills
// in, and that it says the same as the local validation.

namespace muster::control {
namespace {

constexpr char kMark[] = "# refused: ";

std::string Read(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

// The first line of each of these files is the sentence that is expected.
std::string Sentence(const std::string& text) {
  return text.substr(sizeof(kMark) - 1, text.find('\n') - (sizeof(kMark) - 1));
}

std::vector<std::string> Manifests(const std::string& folder) {
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() == ".yaml")
      files.push_back(std::filesystem::absolute(entry.path()));
  }
  std::sort(files.begin(), files.end());
  return files;
}

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
  const Json crd = Cluster().Get({"crd", "trainingjobs.muster.dev"}).value();
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
  const std::string text = Read(GetParam());
  ASSERT_TRUE(absl::StartsWith(text, kMark)) << GetParam();
  const tests::CommandResult created =
      Kubectl({"create", "--dry-run=server", "--validate=strict", "-f", GetParam()});
  EXPECT_FALSE(created.ok()) << created.out;
  EXPECT_TRUE(absl::StrContains(created.err, Sentence(text))) << created.err;
  EXPECT_FALSE(ParseManifest(text).ok());
}

class FrozenField : public testing::TestWithParam<std::string> {};

TEST_P(FrozenField, MustNotChange) {
  const tests::CommandResult applied =
      Kubectl({"apply", "-f", std::filesystem::absolute("tests/crd/good.yaml")});
  ASSERT_TRUE(applied.ok()) << applied.err;
  const std::string text = Read(GetParam());
  ASSERT_TRUE(absl::StartsWith(text, kMark)) << GetParam();
  const tests::CommandResult changed = Kubectl({"apply", "--dry-run=server", "-f", GetParam()});
  EXPECT_FALSE(changed.ok()) << changed.out;
  EXPECT_TRUE(absl::StrContains(changed.err, Sentence(text))) << changed.err;
}

class GoodManifest : public testing::TestWithParam<std::string> {};

// One source: the server fills in what the local defaulting fills in.
TEST_P(GoodManifest, GetsTheSameDefaultsFromBoth) {
  const tests::CommandResult applied =
      Kubectl({"create", "--dry-run=server", "--validate=strict", "-o", "json", "-f", GetParam()});
  ASSERT_TRUE(applied.ok()) << applied.err;
  const ManifestResult local = ParseManifest(Read(GetParam()));
  ASSERT_TRUE(local.ok()) << FormatErrors(GetParam(), local.errors);
  v1alpha1::TrainingJobSpec spec = local.job.spec;
  DefaultFromSchema(spec);
  const Json server = ParseJson(applied.out).value()["spec"];
  // As values: the server writes 1.0 as 1.
  EXPECT_TRUE(server == EncodeMessage(spec)) << DumpJson(server);
}

std::string Stem(const testing::TestParamInfo<std::string>& info) {
  std::string name = std::filesystem::path(info.param).stem();
  std::replace_if(name.begin(), name.end(), [](char c) { return c == '-'; }, '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Crd, RefusedManifest, testing::ValuesIn(Manifests("tests/crd/refused")),
                         Stem);
INSTANTIATE_TEST_SUITE_P(Crd, FrozenField, testing::ValuesIn(Manifests("tests/crd/frozen")), Stem);
INSTANTIATE_TEST_SUITE_P(Crd, GoodManifest, testing::ValuesIn(Manifests("examples")), Stem);

TEST(Crd, ThereAreEnoughRefusedManifests) { EXPECT_GE(Manifests("tests/crd/refused").size(), 60u); }

}  // namespace
}  // namespace muster::control
