#ifndef MUSTER_OPERATOR_METRICS_METRIC_TABLE_H_
#define MUSTER_OPERATOR_METRICS_METRIC_TABLE_H_

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "operator/metrics/metric_catalog.h"

namespace muster::control {

// Returns a row as in docs/metrics.md: "| `name` | type | `label`, `label` | meaning |".
inline std::string MetricRow(const MetricSpec& spec) {
  std::vector<std::string> labels;
  for (const std::string& label : spec.labels) labels.push_back(absl::StrCat("`", label, "`"));
  return absl::StrCat("| `", spec.name, "` | ", TypeName(spec.type), " | ",
                      absl::StrJoin(labels, ", "), " | ", spec.help, " |");
}

// Returns the rows of the whole catalogue, in its order.
inline std::vector<std::string> MetricRows() {
  std::vector<std::string> rows;
  for (int id = 0; id < static_cast<int>(MetricId::kCount); ++id) {
    rows.push_back(MetricRow(SpecOf(static_cast<MetricId>(id))));
  }
  return rows;
}

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_METRICS_METRIC_TABLE_H_
