#include "operator/api/template_quantities.h"

#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/json.h"
#include "base/json_fields.h"
#include "base/quantity.h"
#include "operator/api/pod_template.h"
#include "re2/re2.h"

namespace muster::control {
namespace {

// Returns true for extended resources, e.g. nvidia.com/gpu, which a pod gets only as whole units.
bool IsCounted(absl::string_view resource) {
  return absl::StrContains(resource, "/") && !absl::StrContains(resource, "kubernetes.io/");
}

// Returns what the text may mean: 500GB is 500G or 500Gi, 300GiB is 300Gi.
std::string Meant(const std::string& text) {
  static const LazyRE2 kOtherUnit = {
      "\\s*([0-9]+(?:[.][0-9]+)?)\\s*([kKmMgGtTpPeE])([iI]?)[bB]?\\s*"};
  std::string number, unit, binary;
  if (!RE2::FullMatch(text, *kOtherUnit, &number, &unit, &binary)) {
    return "a number, with a suffix as in 500m, 16G or 16Gi";
  }
  const std::string large = absl::AsciiStrToUpper(unit);
  const std::string gibi = absl::StrCat(number, large, "i");
  if (!binary.empty() && large != "E") return gibi;
  return absl::StrCat(number, large == "K" ? "k" : large, " or ", gibi);
}

void CheckAmount(const std::string& resource, const Json& amount, const std::string& at,
                 FieldErrors& errors) {
  if (amount.is_null()) return;
  const std::string text = amount.is_string() ? amount.get<std::string>() : DumpJson(amount);
  const auto fail = [&](absl::string_view why) {
    errors.push_back({at, absl::StrCat(DumpJson(Json(text)), why)});
  };
  const absl::StatusOr<Quantity> parsed = Quantity::Parse(text);
  const bool typed = amount.is_string() || amount.is_number();
  if (!parsed.ok() || !typed) return fail(absl::StrCat(" is no amount; want ", Meant(text)));
  if (parsed->IsNegative()) return fail(" is negative; want 0 or more");
  if (parsed->IsAbsurd()) return fail(" is more than any machine has");
  const bool whole = parsed->MilliValue() % 1000 == 0;
  if (IsCounted(resource) && !whole) return fail(" is no whole number, and pods get whole ones");
}

void CheckAmounts(const Json& amounts, const std::string& at, FieldErrors& errors) {
  for (const auto& [resource, amount] : amounts.items()) {
    CheckAmount(resource, amount, FieldPath(at, resource), errors);
  }
}

void CheckResources(const Json& holder, const std::string& at, FieldErrors& errors) {
  const Json& resources = ObjectField(holder, "resources");
  for (const char* kind : {"limits", "requests"}) {
    CheckAmounts(ObjectField(resources, kind), absl::StrCat(at, ".resources.", kind), errors);
  }
}

void CheckVolume(const Json& volume, const std::string& at, FieldErrors& errors) {
  const Json& limit = ValueField(ObjectField(volume, "emptyDir"), "sizeLimit");
  CheckAmount("memory", limit, at + ".emptyDir.sizeLimit", errors);
  const Json& claim = ObjectField(ObjectField(volume, "ephemeral"), "volumeClaimTemplate");
  CheckResources(ObjectField(claim, "spec"), at + ".ephemeral.volumeClaimTemplate.spec", errors);
}

}  // namespace

FieldErrors CheckTemplateQuantities(const v1alpha1::TrainingJobSpec& spec) {
  FieldErrors errors;
  const Json pod_template = PodTemplateOf(spec);
  const Json& pod = ObjectField(pod_template, "spec");
  const std::string at = "spec.template.spec";
  for (const char* kind : {"initContainers", "containers"}) {
    const Json& containers = ArrayField(pod, kind);
    for (size_t i = 0; i < containers.size(); ++i) {
      CheckResources(containers[i], ItemPath(FieldPath(at, kind), i), errors);
    }
  }
  const Json& volumes = ArrayField(pod, "volumes");
  for (size_t i = 0; i < volumes.size(); ++i) {
    CheckVolume(volumes[i], ItemPath(FieldPath(at, "volumes"), i), errors);
  }
  CheckResources(pod, at, errors);
  CheckAmounts(ObjectField(pod, "overhead"), at + ".overhead", errors);
  return errors;
}

}  // namespace muster::control
