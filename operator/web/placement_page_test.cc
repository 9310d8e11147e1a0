#include "operator/web/placement_page.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "operator/kube/resource_type.h"
#include "operator/web/test_deps.h"

namespace muster::control {
namespace {

using testing::HasSubstr;

class PlacementPageTest : public testing::Test {
 protected:
  void AddNode(const std::string& name, const std::string& leaf, int cpus) {
    Json node = kube::NewObject(kube::kNodes, {"", name});
    kube::SetLabel(node, "network.topology.nvidia.com/leaf", leaf);
    node["status"] = {
        {"allocatable", {{"cpu", absl::StrCat(cpus)}, {"memory", "64Gi"}, {"pods", "100"}}},
        {"conditions", {{{"type", "Ready"}, {"status", "True"}}}}};
    world_.nodes.Upsert(node, ++version_);
    world_.scheduler.RunOnce();
  }
  // Returns a job whose workers request one CPU each.
  std::string Manifest(int workers, const std::string& require) {
    return DumpJson({{"apiVersion", "muster.dev/v1alpha1"},
                     {"kind", "TrainingJob"},
                     {"metadata", {{"name", "next"}, {"namespace", "default"}}},
                     {"spec",
                      {{"workers", {{"count", workers}}},
                       {"topology", {{"require", require}}},
                       {"template",
                        {{"spec",
                          {{"containers",
                            {{{"name", "worker"},
                              {"image", "x"},
                              {"command", {"true"}},
                              {"resources", {{"requests", {{"cpu", "1"}}}}}}}}}}}}}}});
  }

  PageWorld world_;
  uint64_t version_ = 100;
};

TEST_F(PlacementPageTest, AHypotheticalJobGetsItsNodes) {
  AddNode("a", "rack-1", 2);
  AddNode("b", "rack-2", 4);
  const auto page = WhatIfPage(world_.scheduler, Manifest(4, "leaf"));
  ASSERT_TRUE(page.ok()) << page.status();
  EXPECT_EQ((*page)["reason"], "");
  EXPECT_EQ((*page)["domain"], "rack-2/b");
  EXPECT_EQ((*page)["score"], 1.0);
  ASSERT_EQ((*page)["workers"].size(), 4u);
  EXPECT_EQ((*page)["workers"][3], (Json{{"index", 3}, {"node", "b"}}));
}

TEST_F(PlacementPageTest, EachWorkerSaysWhereItsRanksAreInTheMesh) {
  AddNode("a", "rack-1", 4);
  Json job = *ParseJson(Manifest(2, "leaf"));
  job["spec"].erase("template");
  job["spec"]["workers"]["ranks"] = 2;
  job["spec"]["trainer"] = *ParseJson(
      R"({"model": {"preset": "gpt2-nano"}, "data": {"uri": "corpus.txt"},
          "train": {"steps": 10, "globalBatch": 8, "microBatch": 2, "sequence": 64},
          "parallelism": {"tensor": 2, "pipeline": 2}})");
  job["spec"]["checkpoint"]["uri"] = "out";
  const auto page = WhatIfPage(world_.scheduler, DumpJson(job));
  ASSERT_TRUE(page.ok()) << page.status();
  ASSERT_EQ((*page)["workers"].size(), 2u);
  EXPECT_EQ((*page)["workers"][1]["mesh"], "pipeline 1 of 2, tensor 0-1 of 2");
}

TEST_F(PlacementPageTest, ARefusalSaysHowManyFitAndWhatWouldHelp) {
  AddNode("a", "rack-1", 2);
  AddNode("b", "rack-2", 4);
  const auto page = WhatIfPage(world_.scheduler, Manifest(6, "leaf"));
  ASSERT_TRUE(page.ok()) << page.status();
  EXPECT_EQ((*page)["reason"], "Topology");
  EXPECT_EQ((*page)["sentence"],
            "6 workers in one leaf are asked for; the best, rack-2, has room for 4, and for 6 "
            "without that condition; fits now with workers.count <= 4 or topology.prefer in place "
            "of require");
  EXPECT_EQ((*page)["fitsNow"], 4);
  EXPECT_EQ((*page)["start"]["kind"], "NoRoom");
  EXPECT_EQ((*page)["victims"], Json::array());
  EXPECT_EQ((*page)["relaxations"],
            Json::parse(R"([{"change": "without topology.require", "workers": 6}])"));
  // The query has changed nothing.
  EXPECT_EQ(*WhatIfPage(world_.scheduler, Manifest(6, "leaf")), *page);
}

TEST_F(PlacementPageTest, AClusterWithoutNodesIsReportedAsOne) {
  const auto page = WhatIfPage(world_.scheduler, Manifest(1, "host"));
  ASSERT_TRUE(page.ok()) << page.status();
  EXPECT_EQ((*page)["reason"], "NoNodeBigEnough");
  EXPECT_EQ((*page)["sentence"], "the cluster has no nodes");
}

TEST_F(PlacementPageTest, AnInvalidManifestIsRefused) {
  EXPECT_EQ(WhatIfPage(world_.scheduler, "{").status().code(), absl::StatusCode::kInvalidArgument);
  const auto page = WhatIfPage(world_.scheduler, Manifest(0, "leaf"));
  EXPECT_EQ(page.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(page.status().message()), HasSubstr("workers.count"));
}

TEST_F(PlacementPageTest, TheTreeSumsUpWhatIsFree) {
  AddNode("a", "rack-1", 2);
  AddNode("b", "rack-2", 4);
  AddNode("c", "rack-2", 4);
  const Json tree = TopologyPage(world_.scheduler, 1);
  EXPECT_EQ(tree["nodes"], 3);
  EXPECT_EQ(tree["free"]["cpuMillis"], 10000);
  ASSERT_EQ(tree["children"].size(), 2u);
  EXPECT_EQ(tree["children"][1]["level"], "leaf");
  EXPECT_EQ(tree["children"][1]["name"], "rack-2");
  EXPECT_EQ(tree["children"][1]["nodes"], 2);
  EXPECT_FALSE(tree["children"][1].contains("children"));
}

TEST_F(PlacementPageTest, TheTreeSaysWhyNodesAreNotUsable) {
  AddNode("a", "rack-1", 2);
  Json node = kube::NewObject(kube::kNodes, {"", "b"});
  kube::SetLabel(node, "network.topology.nvidia.com/leaf", "rack-1");
  node["spec"] = Json::parse(R"({"unschedulable": true, "taints": [
      {"key": "team", "value": "a", "effect": "NoSchedule"}]})");
  node["status"] = Json::parse(R"({"conditions": [
      {"type": "Ready", "status": "Unknown", "reason": "NodeStatusUnknown"}]})");
  world_.nodes.Upsert(node, ++version_);
  world_.scheduler.RunOnce();
  const Json tree = TopologyPage(world_.scheduler, 9);
  EXPECT_EQ(tree["usable"], 1);
  EXPECT_EQ(tree["notUsable"], Json::parse(R"({"NodeNotReady": 1})"));
  const Json& leaf = tree["children"][0];
  EXPECT_EQ(leaf["notUsable"], tree["notUsable"]);
  EXPECT_FALSE(leaf["children"][0].contains("health"));
  EXPECT_EQ(leaf["children"][1]["health"], Json::parse(R"json([
      {"reason": "NodeNotReady", "sentence": "not Ready (NodeStatusUnknown)"},
      {"reason": "NodeUnschedulable", "sentence": "cordoned"},
      {"reason": "Taint", "sentence": "taint team=a:NoSchedule"}])json"));
}

}  // namespace
}  // namespace muster::control
