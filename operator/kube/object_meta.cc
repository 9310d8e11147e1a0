#include "operator/kube/object_meta.h"

#include <utility>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/json_fields.h"

namespace muster::kube {
namespace {

std::string MetaString(const Json& object, std::string_view field) {
  return StringAt(object, {"metadata", field});
}

std::optional<absl::Time> MetaTime(const Json& object, std::string_view field) {
  const Json* value = Find(object, {"metadata", field});
  if (value == nullptr || !value->is_string()) return std::nullopt;
  return kube::ParseTime(value->get_ref<const std::string&>());
}

const Json& MetaOf(const Json& object) { return ObjectField(object, "metadata"); }

}  // namespace

std::string ToString(const ObjectKey& key) {
  return key.name_space.empty() ? key.name : absl::StrCat(key.name_space, "/", key.name);
}

std::string NameOf(const Json& object) { return MetaString(object, "name"); }
std::string NamespaceOf(const Json& object) { return MetaString(object, "namespace"); }
ObjectKey KeyOf(const Json& object) { return {NamespaceOf(object), NameOf(object)}; }
std::string UidOf(const Json& object) { return MetaString(object, "uid"); }
std::string ResourceVersionOf(const Json& object) { return MetaString(object, "resourceVersion"); }
int64_t GenerationOf(const Json& object) {
  return IntegerField(MetaOf(object), "generation").value_or(0);
}
Labels LabelsOf(const Json& object) { return LabelField(MetaOf(object), "labels"); }
Labels AnnotationsOf(const Json& object) { return LabelField(MetaOf(object), "annotations"); }

std::string LabelOf(const Json& object, std::string_view key) {
  return StringAt(object, {"metadata", "labels", key});
}

std::string AnnotationOf(const Json& object, std::string_view key) {
  return StringAt(object, {"metadata", "annotations", key});
}

std::vector<std::string> FinalizersOf(const Json& object) {
  return StringsField(MetaOf(object), "finalizers");
}

std::vector<OwnerReference> OwnersOf(const Json& object) {
  std::vector<OwnerReference> owners;
  const Json* list = Find(object, {"metadata", "ownerReferences"});
  if (list == nullptr || !list->is_array()) return owners;
  for (const Json& item : *list) {
    owners.push_back({StringAt(item, {"apiVersion"}), StringAt(item, {"kind"}),
                      StringAt(item, {"name"}), StringAt(item, {"uid"}),
                      BoolField(item, "controller"), BoolField(item, "blockOwnerDeletion")});
  }
  return owners;
}

std::optional<OwnerReference> ControllerOf(const Json& object) {
  for (OwnerReference& owner : OwnersOf(object)) {
    if (owner.controller) return std::move(owner);
  }
  return std::nullopt;
}

std::optional<absl::Time> CreationTimeOf(const Json& object) {
  return MetaTime(object, "creationTimestamp");
}
std::optional<absl::Time> DeletionTimeOf(const Json& object) {
  return MetaTime(object, "deletionTimestamp");
}
std::optional<int64_t> DeletionGraceOf(const Json& object) {
  return IntegerField(MetaOf(object), "deletionGracePeriodSeconds");
}

Json NewObject(const ResourceType& type, const ObjectKey& key) {
  Json object = {{"apiVersion", type.ApiVersion()},
                 {"kind", std::string(type.kind)},
                 {"metadata", {{"name", key.name}}}};
  if (!key.name_space.empty()) object["metadata"]["namespace"] = key.name_space;
  return object;
}

void SetName(Json& object, std::string_view name) {
  object["metadata"]["name"] = std::string(name);
}
void SetLabel(Json& object, std::string_view key, std::string_view value) {
  object["metadata"]["labels"][std::string(key)] = std::string(value);
}
void SetAnnotation(Json& object, std::string_view key, std::string_view value) {
  object["metadata"]["annotations"][std::string(key)] = std::string(value);
}
void SetResourceVersion(Json& object, std::string_view version) {
  object["metadata"]["resourceVersion"] = std::string(version);
}

void SetFinalizers(Json& object, const std::vector<std::string>& finalizers) {
  if (finalizers.empty()) {
    object["metadata"].erase("finalizers");
  } else {
    object["metadata"]["finalizers"] = finalizers;
  }
}

void SetOwners(Json& object, const std::vector<OwnerReference>& owners) {
  Json list = Json::array();
  for (const OwnerReference& owner : owners) {
    Json item = {{"apiVersion", owner.api_version},
                 {"kind", owner.kind},
                 {"name", owner.name},
                 {"uid", owner.uid}};
    if (owner.controller) item["controller"] = true;
    if (owner.block_owner_deletion) item["blockOwnerDeletion"] = true;
    list.push_back(std::move(item));
  }
  if (list.empty()) {
    object["metadata"].erase("ownerReferences");
  } else {
    object["metadata"]["ownerReferences"] = std::move(list);
  }
}

OwnerReference ControllerReferenceTo(const ResourceType& type, const Json& owner) {
  return {type.ApiVersion(), std::string(type.kind), NameOf(owner), UidOf(owner), true, true};
}

const Json* Find(const Json& object, std::initializer_list<std::string_view> path) {
  return FindField(object, path);
}

std::string StringAt(const Json& object, std::initializer_list<std::string_view> path) {
  const Json* value = Find(object, path);
  return value != nullptr && value->is_string() ? value->get<std::string>() : std::string();
}

std::string FormatTime(absl::Time time) {
  return absl::FormatTime("%Y-%m-%dT%H:%M:%SZ", time, absl::UTCTimeZone());
}

std::string FormatMicroTime(absl::Time time) {
  return absl::FormatTime("%Y-%m-%dT%H:%M:%E6SZ", time, absl::UTCTimeZone());
}

std::optional<absl::Time> ParseTime(std::string_view text) {
  absl::Time time;
  std::string error;
  if (!absl::ParseTime(absl::RFC3339_full, std::string(text), &time, &error)) return std::nullopt;
  return time;
}

absl::StatusOr<uint64_t> ParseResourceVersion(std::string_view version) {
  if (version.empty()) return uint64_t{0};
  uint64_t number = 0;
  if (!absl::SimpleAtoi(std::string(version), &number)) {
    return absl::InvalidArgumentError(
        absl::StrCat("resourceVersion \"", std::string(version), "\" is not a number"));
  }
  return number;
}

}  // namespace muster::kube
