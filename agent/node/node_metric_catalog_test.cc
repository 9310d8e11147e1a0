// Compares a table of docs/metrics.md with the catalogue of the node agent. Under `bazel run`, as
// tools/generate calls it, this test writes the table.
#include "agent/node/node_metric_catalog.h"

#include <set>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/testing/generated_document.h"
#include "gtest/gtest.h"

namespace muster::agent {
namespace {

std::string Row(const NodeMetricSpec& spec) {
  std::vector<std::string> labels;
  for (const std::string& label : spec.labels) labels.push_back(absl::StrCat("`", label, "`"));
  const bool counts = spec.type == prometheus::MetricType::Counter;
  return absl::StrCat("| `", spec.name, "` | ", counts ? "counter" : "gauge", " | ",
                      absl::StrJoin(labels, ", "), " | ", spec.help, " |\n");
}

TEST(NodeMetricCatalogTest, TheDocumentListsExactlyWhatIsExported) {
  std::string table = "| name | type | labels | meaning |\n|---|---|---|---|\n";
  for (int i = 0; i < static_cast<int>(NodeMetric::kCount); ++i) {
    table += Row(SpecOf(static_cast<NodeMetric>(i)));
  }
  CheckDocument("docs/metrics.md", {{"node-metrics", table}});
}

TEST(NodeMetricCatalogTest, EveryNameIsOwnUniqueAndSaysWhetherItCounts) {
  std::set<std::string> names;
  for (int i = 0; i < static_cast<int>(NodeMetric::kCount); ++i) {
    const NodeMetricSpec& spec = SpecOf(static_cast<NodeMetric>(i));
    EXPECT_TRUE(absl::StartsWith(spec.name, "muster_node_")) << spec.name;
    EXPECT_TRUE(names.insert(spec.name).second) << spec.name;
    EXPECT_EQ(absl::EndsWith(spec.name, "_total"), spec.type == prometheus::MetricType::Counter)
        << spec.name;
    EXPECT_FALSE(spec.help.empty()) << spec.name;
  }
}

}  // namespace
}  // namespace muster::agent
