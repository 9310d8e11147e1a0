#include "operator/api/template_gpus.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/json.h"
#include "base/json_fields.h"
#include "base/quantity.h"
#include "operator/api/pod_template.h"

namespace muster::control {
namespace {

constexpr char kNoCuda[] =
    "the built-in trainer computes on NVIDIA's GPUs alone: leave the resource out, or give the "
    "template a command that uses it";
constexpr char kUnused[] =
    "without workers.gpus the built-in trainer computes on the CPU: set workers.gpus to the number "
    "of GPUs, or leave the resource out";

// The resource names of GPU device plugins, for whole GPUs and parts: nvidia.com/gpu.shared,
// nvidia.com/mig-1g.5gb, amd.com/cpx_nps4, gpu.intel.com/i915. The vendors' other devices, such as
// network cards, have other names.
constexpr absl::string_view kNvidia[] = {"nvidia.com/gpu", "nvidia.com/mig-"};
constexpr absl::string_view kOthers[] = {
    "amd.com/gpu", "amd.com/spx_", "amd.com/dpx_", "amd.com/qpx_", "amd.com/cpx_", "gpu.intel.com/",
};

template <size_t kSize>
bool BeginsAs(const absl::string_view (&begins)[kSize], absl::string_view resource) {
  return std::any_of(std::begin(begins), std::end(begins),
                     [&](absl::string_view begin) { return absl::StartsWith(resource, begin); });
}

// Returns a number of devices; nullopt for what the API server refuses.
std::optional<int64_t> NumberOf(const Json& quantity) {
  const absl::StatusOr<Quantity> parsed =
      Quantity::Parse(quantity.is_string() ? quantity.get<std::string>() : DumpJson(quantity));
  return parsed.ok() ? std::optional<int64_t>(parsed->Value()) : std::nullopt;
}

// Returns an error for each GPU in a list of amounts that the trainer cannot use.
FieldErrors Unusable(const Json& amounts, const std::string& at, bool has_gpus) {
  FieldErrors errors;
  for (const auto& [resource, quantity] : amounts.items()) {
    if (NumberOf(quantity) == 0) continue;
    if (BeginsAs(kOthers, resource)) errors.push_back({FieldPath(at, resource), kNoCuda});
    if (BeginsAs(kNvidia, resource) && !has_gpus) {
      errors.push_back({FieldPath(at, resource), kUnused});
    }
  }
  return errors;
}

// Returns the sum of the GPUs in the limits; nullopt if none is named there, or one is no number.
std::optional<int64_t> SumOf(const Json& limits) {
  std::optional<int64_t> sum;
  for (const auto& [resource, quantity] : limits.items()) {
    if (!BeginsAs(kNvidia, resource)) continue;
    const std::optional<int64_t> number = NumberOf(quantity);
    if (!number.has_value()) return std::nullopt;
    sum = sum.value_or(0) + std::clamp<int64_t>(*number, 0, INT32_MAX);
  }
  return sum;
}

}  // namespace

FieldErrors CheckTemplateGpus(const v1alpha1::TrainingJobSpec& spec) {
  FieldErrors errors;
  if (!spec.has_trainer()) return errors;
  const int64_t gpus = spec.workers().gpus();
  const Json pod_template = PodTemplateOf(spec);
  for (const auto& [index, container] : WorkerContainers(pod_template)) {
    const std::string at =
        absl::StrCat(ItemPath("spec.template.spec.containers", index), ".resources.");
    const Json& resources = ObjectField(*container, "resources");
    for (const char* kind : {"limits", "requests"}) {
      const FieldErrors found = Unusable(ObjectField(resources, kind), at + kind, gpus > 0);
      errors.insert(errors.end(), found.begin(), found.end());
    }
    const std::optional<int64_t> sum = SumOf(ObjectField(resources, "limits"));
    if (gpus == 0 || !sum.has_value() || *sum == gpus) continue;
    errors.push_back(
        {at + "limits", absl::StrCat("here ", *sum, " GPUs, and workers.gpus is ", gpus,
                                     ": each rank of the built-in trainer "
                                     "computes on one GPU, so let both be the same")});
  }
  return errors;
}

}  // namespace muster::control
