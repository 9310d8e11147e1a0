// Compares the table of docs/metrics.md with the catalogue. Under `bazel run`, as tools/generate
// calls it, this test writes the table.
#include "operator/metrics/metric_catalog.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/testing/generated_document.h"
#include "gtest/gtest.h"
#include "operator/metrics/metric_table.h"

namespace muster::control {
namespace {

// Another test compares the catalogue with what the page exports: operator/web/metrics_test.cc.
TEST(MetricCatalogTest, TheDocumentListsExactlyWhatIsExported) {
  const std::string table = absl::StrCat("| name | type | labels | meaning |\n|---|---|---|---|\n",
                                         absl::StrJoin(MetricRows(), "\n"), "\n");
  CheckDocument("docs/metrics.md", {{"metrics", table}});
}

}  // namespace
}  // namespace muster::control
