// Prints the names in the operator's own tables, one a line after its kind and a tab. The program
// asks the functions that the product uses, because the sources do not show the names literally.
#include <cstdio>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "operator/core/resume/resume.h"
#include "operator/core/state/conditions.h"
#include "operator/core/state/round_transition.h"
#include "operator/metrics/metric_catalog.h"

namespace muster::control {
namespace {

void Print(absl::string_view kind, absl::string_view name) {
  std::printf("%s\t%s\n", std::string(kind).c_str(), std::string(name).c_str());
}

template <typename Enum>
void PrintAll(absl::string_view kind, const std::vector<Enum>& values) {
  for (const Enum value : values) Print(kind, Name(value));
}

void PrintMetrics() {
  for (int i = 0; i < static_cast<int>(MetricId::kCount); ++i) {
    const MetricSpec& spec = SpecOf(static_cast<MetricId>(i));
    const std::string labels = absl::StrJoin(spec.labels, ",");
    Print("metrics: name, type and labels",
          absl::StrCat(spec.name, " ", TypeName(spec.type), " {", labels, "}"));
  }
}

void PrintStates() {
  PrintAll("condition types", AllConditionTypes());
  PrintAll("reasons of conditions and events", AllReasons());
  PrintAll("states of a job", AllJobStates());
  PrintAll("phases of a round", AllRoundPhases());
  PrintAll("events of a round", AllRoundEvents());
  for (int i = 0; i <= static_cast<int>(ResumeReason::kCheckpointUnlistable); ++i) {
    Print("reasons to resume", Name(static_cast<ResumeReason>(i)));
  }
}

}  // namespace
}  // namespace muster::control

int main() {
  muster::control::PrintMetrics();
  muster::control::PrintStates();
}
