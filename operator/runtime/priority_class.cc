#include "operator/runtime/priority_class.h"

#include "operator/kube/object_meta.h"

namespace muster::control {

absl::StatusOr<PriorityClass> ParsePriorityClass(const Json& json) {
  PriorityClass parsed;
  parsed.name = kube::KeyOf(json).name;
  const auto value = json.find("value");
  if (value != json.end() && value->is_number_integer()) parsed.value = value->get<int64_t>();
  const auto is_default = json.find("globalDefault");
  parsed.global_default =
      is_default != json.end() && is_default->is_boolean() && is_default->get<bool>();
  parsed.preempts = kube::StringAt(json, {"preemptionPolicy"}) != "Never";
  return parsed;
}

void Priorities::Set(const PriorityCache& classes) {
  classes_.clear();
  default_ = {};
  for (const PriorityCache::Object& one : classes.List()) {
    classes_[one->name] = *one;
    // Of several defaults the lowest counts, as in Kubernetes.
    const bool lower = default_.name.empty() || one->value < default_.value;
    if (one->global_default && lower) default_ = *one;
  }
}

PriorityClass Priorities::Of(const std::string& class_name) const {
  const auto found = classes_.find(class_name);
  return found == classes_.end() ? default_ : found->second;
}

}  // namespace muster::control
