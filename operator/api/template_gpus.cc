#include "operator/api/template_gpus.h"

#include <algorithm>
#include <iterator>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/json.h"

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

// Returns null unless `json` is an object that has the field.
const Json* Find(const Json* json, const char* name) {
  if (json == nullptr || !json->is_object()) return nullptr;
  const auto found = json->find(name);
  return found == json->end() ? nullptr : &*found;
}

}  // namespace

FieldErrors CheckTemplateGpus(const v1alpha1::TrainingJobSpec& spec) {
  FieldErrors errors;
  const absl::StatusOr<Json> raw = ParseJson(spec.template_().raw());
  if (!spec.has_trainer() || !raw.ok()) return errors;
  const Json* containers = Find(Find(&*raw, "spec"), "containers");
  if (containers == nullptr || !containers->is_array()) return errors;
  for (size_t i = 0; i < containers->size(); ++i) {
    const Json* name = Find(&(*containers)[i], "name");
    if (name == nullptr || *name != "worker") continue;
    const Json* resources = Find(&(*containers)[i], "resources");
    for (const char* kind : {"limits", "requests"}) {
      const Json* amounts = Find(resources, kind);
      if (amounts == nullptr || !amounts->is_object()) continue;
      for (const auto& [resource, quantity] : amounts->items()) {
        if (!IsGpu(resource) || IsNone(quantity)) continue;
        const std::string at =
            absl::StrCat(ItemPath("spec.template.spec.containers", i), ".resources.", kind);
        errors.push_back({FieldPath(at, resource), kSentence});
      }
    }
  }
  return errors;
}

}  // namespace muster::control
