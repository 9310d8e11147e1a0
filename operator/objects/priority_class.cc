#include "operator/objects/priority_class.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/json_fields.h"
#include "operator/kube/object_meta.h"

namespace muster::control {
namespace {

// The lowest of several defaults counts, as in Kubernetes.
PriorityClass DefaultOf(const std::vector<PriorityCache::Object>& classes) {
  PriorityClass found;
  for (const PriorityCache::Object& one : classes) {
    const bool lower = found.name.empty() || one->value < found.value;
    if (one->global_default && lower) found = *one;
  }
  return found;
}

}  // namespace

absl::StatusOr<PriorityClass> ParsePriorityClass(const Json& json) {
  PriorityClass parsed;
  parsed.name = kube::KeyOf(json).name;
  if (const auto value = IntegerField(json, "value")) parsed.value = *value;
  parsed.global_default = BoolField(json, "globalDefault");
  parsed.preempts = StringField(json, "preemptionPolicy") != "Never";
  return parsed;
}

void Priorities::Set(const PriorityCache& classes) {
  const std::vector<PriorityCache::Object> all = classes.List();
  classes_.clear();
  for (const PriorityCache::Object& one : all) classes_[one->name] = *one;
  default_ = DefaultOf(all);
}

PriorityClass Priorities::Of(const std::string& class_name) const {
  const auto found = classes_.find(class_name);
  return found == classes_.end() ? default_ : found->second;
}

std::string MissingPriorityClass(const PriorityCache& classes, const std::string& class_name) {
  if (class_name.empty() || !classes.HasSynced()) return "";
  if (classes.Get({"", class_name}) != nullptr) return "";
  const PriorityClass used = DefaultOf(classes.List());
  const std::string of = used.name.empty() ? "" : absl::StrCat(", of class \"", used.name, "\",");
  return absl::StrCat("priorityClassName \"", class_name,
                      "\" does not exist; the default priority ", used.value, of, " is used");
}

}  // namespace muster::control
