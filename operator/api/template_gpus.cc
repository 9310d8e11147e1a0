#include "operator/api/template_gpus.h"

#include <algorithm>
#include <iterator>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/json.h"
#include "base/json_fields.h"
#include "operator/api/pod_template.h"

namespace muster::control {
namespace {

constexpr char kSentence[] =
    "the built-in trainer computes on the CPU so far: leave the GPUs out, or give the template a "
    "command that uses them";

// The resource names of GPU device plugins, for whole GPUs and parts: nvidia.com/gpu.shared,
// nvidia.com/mig-1g.5gb, amd.com/cpx_nps4, gpu.intel.com/i915. The vendors' other devices, such as
// network cards, have other names.
constexpr absl::string_view kGpus[] = {
    "nvidia.com/gpu", "nvidia.com/mig-", "amd.com/gpu",  "amd.com/spx_",
    "amd.com/dpx_",   "amd.com/qpx_",    "amd.com/cpx_", "gpu.intel.com/",
};

bool IsGpu(absl::string_view resource) {
  return std::any_of(std::begin(kGpus), std::end(kGpus),
                     [&](absl::string_view gpu) { return absl::StartsWith(resource, gpu); });
}

bool IsNone(const Json& quantity) { return quantity == 0 || quantity == "0"; }

}  // namespace

FieldErrors CheckTemplateGpus(const v1alpha1::TrainingJobSpec& spec) {
  FieldErrors errors;
  if (!spec.has_trainer()) return errors;
  const Json pod_template = PodTemplateOf(spec);
  for (const auto& [index, container] : WorkerContainers(pod_template)) {
    const Json& resources = ObjectField(*container, "resources");
    for (const char* kind : {"limits", "requests"}) {
      for (const auto& [resource, quantity] : ObjectField(resources, kind).items()) {
        if (!IsGpu(resource) || IsNone(quantity)) continue;
        const std::string at =
            absl::StrCat(ItemPath("spec.template.spec.containers", index), ".resources.", kind);
        errors.push_back({FieldPath(at, resource), kSentence});
      }
    }
  }
  return errors;
}

}  // namespace muster::control
