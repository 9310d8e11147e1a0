#include "cli/jobs/cluster_file.h"

#include <cstdlib>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/exit_codes.h"
#include "base/files/files.h"
#include "base/json.h"
#include "base/testing/memory_files.h"
#include "cli/commands.h"
#include "cli/flags/command_call.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "operator/api/manifest.h"

namespace muster::cli {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

// Two racks of two nodes with 8 GPUs under one spine.
constexpr char kCluster[] = R"(
levels: [spine, rack]
pools:
- {name: h100, nodes: 4, perDomain: [4, 2], gpus: 8, cpu: "64", memory: 1Ti}
queues:
- name: small
  quotas: [{resource: nvidia.com/gpu, nominal: "8"}]
)";

std::string Manifest(int workers, const std::string& topology, const std::string& more = "") {
  return absl::StrCat(R"({"apiVersion": "muster.dev/v1alpha1", "kind": "TrainingJob",
      "metadata": {"name": "next"}, "spec": {)",
                      more, R"("workers": {"count": )", workers, R"(, "gpus": 8}, "topology": )",
                      topology, R"(, "template": {"spec": {"containers": [
          {"name": "worker", "command": ["train"]}]}}}})");
}

class ClusterFileTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(WriteFileAtomically(files_, "/cluster.yaml", kCluster).ok());
    auto opened = ClusterFile::Open(files_, "/cluster.yaml");
    ASSERT_TRUE(opened.ok()) << opened.status();
    cluster_ = *std::move(opened);
  }
  Json Ask(const std::string& manifest) {
    control::ManifestResult read = control::ParseManifest(manifest);
    EXPECT_THAT(read.errors, IsEmpty());
    const auto page = cluster_->WhatIf(read.job);
    EXPECT_TRUE(page.ok()) << page.status();
    return page.value_or(Json());
  }

  MemoryFiles files_;
  std::unique_ptr<ClusterFile> cluster_;
};

TEST_F(ClusterFileTest, AJobGoesWhereItsTopologyAllows) {
  const Json page = Ask(Manifest(2, R"({"require": "rack"})"));
  EXPECT_EQ(page["reason"], "");
  EXPECT_EQ(page["level"], "rack");
  ASSERT_EQ(page["workers"].size(), 2u);
  const std::string first = page["workers"][0]["node"], second = page["workers"][1]["node"];
  EXPECT_THAT(first, StartsWith("h100-"));
  EXPECT_THAT(second, StartsWith("h100-"));
  EXPECT_NE(first, second);
}

TEST_F(ClusterFileTest, AJobThatDoesNotFitGetsTheReasonAndTheWorkersThatWouldFit) {
  const Json page = Ask(Manifest(3, R"({"require": "rack"})"));
  EXPECT_EQ(page["reason"], "Topology");
  EXPECT_EQ(page["fitsNow"], 2);
  const Json wide = Ask(Manifest(5, "{}"));
  EXPECT_EQ(wide["reason"], "Insufficient");
  EXPECT_EQ(wide["fitsNow"], 4);
}

constexpr char kSpotCluster[] = R"(
levels: [rack]
pools:
- {name: stays, nodes: 1, perDomain: [1], gpus: 8, cpu: "64", memory: 1Ti}
- {name: spot, nodes: 4, perDomain: [4], gpus: 8, cpu: "64", memory: 1Ti,
   labels: {karpenter.sh/capacity-type: spot}}
)";

TEST_F(ClusterFileTest, BoundsOnSpotNodesApplyAndTheAnswerSaysWhatTheyCost) {
  ASSERT_TRUE(WriteFileAtomically(files_, "/spot.yaml", kSpotCluster).ok());
  auto opened = ClusterFile::Open(files_, "/spot.yaml");
  ASSERT_TRUE(opened.ok()) << opened.status();
  cluster_ = *std::move(opened);
  const Json fits = Ask(Manifest(3, "{}", R"("spot": {"onDemandFloor": 1}, )"));
  EXPECT_EQ(fits["reason"], "");
  EXPECT_EQ(fits["workers"][0]["node"], "stays-0");
  EXPECT_THAT(fits["workers"][1]["node"].get<std::string>(), StartsWith("spot-"));
  const Json no = Ask(Manifest(4, "{}", R"("spot": {"maxFraction": 0.5}, )"));
  EXPECT_EQ(no["reason"], "SpotLimit");
  EXPECT_THAT(no["sentence"].get<std::string>(),
              HasSubstr("needs 2 workers on nodes that are not spot nodes (spot.maxFraction); 1 "
                        "fits"));
  EXPECT_EQ(no["asked"]["mostOnSpot"], 2);
  EXPECT_THAT(no["relaxations"],
              Contains(Json({{"change", "without bounds in spot"}, {"workers", 4}})));
  const Json none = Ask(Manifest(2, "{}", R"("spot": {"allow": false}, )"));
  EXPECT_EQ(none["fitsNow"], 1);
  EXPECT_THAT(none["nodesLeftOut"].get<std::string>(), HasSubstr("4 are spot nodes"));
}

TEST_F(ClusterFileTest, QuotasOfTheFileApply) {
  const Json page = Ask(Manifest(2, "{}", R"("queue": "small", )"));
  EXPECT_THAT(page["sentence"].get<std::string>(), HasSubstr("small"));
  EXPECT_NE(page["reason"], "");
  EXPECT_EQ(Ask(Manifest(1, "{}", R"("queue": "small", )"))["reason"], "");
  EXPECT_EQ(Ask(Manifest(1, "{}", R"("queue": "none", )"))["reason"], "NoSuchQueue");
}

TEST_F(ClusterFileTest, TheTreeShowsTheNodesOfTheFile) {
  const Json tree = cluster_->Tree(9);
  EXPECT_EQ(tree["nodes"], 4);
  EXPECT_EQ(tree["usable"], 4);
  EXPECT_EQ(tree["free"]["gpus"], 32);
  EXPECT_EQ(tree["free"]["cpuMillis"], 4 * 64'000);
  ASSERT_EQ(tree["children"].size(), 1u);
  EXPECT_EQ(tree["children"][0]["level"], "spine");
  ASSERT_EQ(tree["children"][0]["children"].size(), 2u);
  EXPECT_EQ(tree["children"][0]["children"][0]["nodes"], 2);
  EXPECT_FALSE(cluster_->Tree(1)["children"][0].contains("children"));
}

TEST_F(ClusterFileTest, AFileThatIsNoClusterSaysWhatIsWrong) {
  ASSERT_TRUE(WriteFileAtomically(files_, "/bad.yaml", "pools: []").ok());
  const auto opened = ClusterFile::Open(files_, "/bad.yaml");
  EXPECT_EQ(opened.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(opened.status().message()), HasSubstr("/bad.yaml: pools: is missing"));
  EXPECT_TRUE(absl::IsNotFound(ClusterFile::Open(files_, "/none.yaml").status()));
}

class ClusterFlagTest : public testing::Test {
 protected:
  void SetUp() override {
    cluster_ = JoinPath(testing::TempDir(), "cluster.yaml");
    manifest_ = JoinPath(testing::TempDir(), "next.json");
    ASSERT_TRUE(WriteFileAtomically(FileSystem(), cluster_, kCluster).ok());
    ASSERT_TRUE(WriteFileAtomically(FileSystem(), manifest_, Manifest(1, "{}")).ok());
  }
  std::string cluster_;
  std::string manifest_;
};

TEST_F(ClusterFlagTest, WhatIfAndTreeNeedNoOperator) {
  const CommandResult placed = Call(&WhatIfMain, {"-f", manifest_, "--cluster", cluster_});
  EXPECT_EQ(placed.code, kExitOk) << placed.err;
  EXPECT_THAT(placed.out, HasSubstr("default/next: 1 worker\n"));
  EXPECT_THAT(placed.out, HasSubstr("  worker 0    h100-"));
  const CommandResult tree = Call(&TreeMain, {"--cluster", cluster_, "--depth", "1"});
  EXPECT_EQ(tree.code, kExitOk) << tree.err;
  EXPECT_THAT(tree.out, HasSubstr("cluster  4 nodes  32 of 32 GPUs free  256 of 256 CPUs free\n"));
}

TEST_F(ClusterFlagTest, ItDoesNotGoWithAnOperator) {
  const CommandResult both = Call(&TreeMain, {"--cluster", cluster_, "--server", "unix:/nowhere"});
  EXPECT_EQ(both.code, kExitBadInput);
  EXPECT_EQ(both.err, "muster: --cluster asks no operator: it does not go with --server\n");
}

}  // namespace
}  // namespace muster::cli
