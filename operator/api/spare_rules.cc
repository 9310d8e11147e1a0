#include "operator/api/spare_rules.h"

#include <cstdint>

#include "absl/strings/str_cat.h"
#include "operator/api/unless.h"

namespace muster::control {

using v1alpha1::TopologySpec;
using v1alpha1::TrainingJobSpec;
using v1alpha1::WorkersSpec;

namespace {

// The maximum of workers.count.
constexpr int64_t kMostPods = 5000;

}  // namespace

std::optional<std::string> SlicesDivide(const TopologySpec& topology, int32_t workers) {
  if (topology.slices_size() == 0 || topology.slices(0).workers() < 1) return {};
  const int32_t slice = topology.slices(0).workers();
  return Unless(workers % slice == 0, absl::StrCat("here ", workers, " and ", slice));
}

std::optional<std::string> SlicesDivideSpares(const TrainingJobSpec& spec) {
  return SlicesDivide(spec.topology(), spec.workers().spares());
}

std::optional<std::string> SparesWithoutGrowth(const TrainingJobSpec& spec) {
  return Unless(spec.workers().spares() == 0 || spec.elastic().policy() != "Grow");
}

std::optional<std::string> SparesOfEquals(const TrainingJobSpec& spec) {
  return Unless(spec.workers().spares() == 0 || spec.success_policy() != "Leader");
}

std::optional<std::string> PodsWithSpares(const WorkersSpec& workers) {
  const int64_t pods = int64_t{workers.count()} + workers.spares();
  return Unless(pods <= kMostPods, absl::StrCat("here ", pods));
}

}  // namespace muster::control
