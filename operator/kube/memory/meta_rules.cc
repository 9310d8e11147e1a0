#include "operator/kube/memory/meta_rules.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "operator/kube/api_error.h"
#include "operator/kube/name_rules.h"
#include "operator/kube/object_meta.h"

namespace muster::kube {
namespace {

constexpr size_t kMaxAnnotationBytes = size_t{256} << 10;

absl::Status Invalid(const std::string& field, const std::string& value, const std::string& why) {
  return ApiError(Reason::kInvalid,
                  absl::StrCat("metadata.", field, ": Invalid value: \"", value, "\": ", why));
}

absl::Status CheckStringMap(const Json& object, const char* field) {
  const Json* map = Find(object, {"metadata", field});
  if (map == nullptr || map->is_null()) return absl::OkStatus();
  const bool strings =
      map->is_object() &&
      std::all_of(map->begin(), map->end(), [](const Json& value) { return value.is_string(); });
  if (strings) return absl::OkStatus();
  return ApiError(Reason::kBadRequest,
                  absl::StrCat("metadata.", field, " must be a map of strings"));
}

absl::Status CheckLabels(const Json& object) {
  for (const auto& [key, value] : LabelsOf(object)) {
    if (!IsQualifiedName(key)) return Invalid("labels", key, "not a qualified name");
    if (!IsLabelValue(value)) return Invalid("labels", value, "not a label value");
  }
  return absl::OkStatus();
}

absl::Status CheckAnnotations(const Json& object) {
  size_t bytes = 0;
  for (const auto& [key, value] : AnnotationsOf(object)) {
    if (!IsQualifiedName(key)) return Invalid("annotations", key, "not a qualified name");
    bytes += key.size() + value.size();
  }
  if (bytes <= kMaxAnnotationBytes) return absl::OkStatus();
  return ApiError(Reason::kInvalid, absl::StrCat("metadata.annotations: Too long: ", bytes,
                                                 " bytes, at most ", kMaxAnnotationBytes));
}

absl::Status CheckOwners(const Json& object) {
  int controllers = 0;
  for (const OwnerReference& owner : OwnersOf(object)) {
    if (owner.api_version.empty() || owner.kind.empty() || owner.name.empty() ||
        owner.uid.empty()) {
      return Invalid("ownerReferences", owner.name, "apiVersion, kind, name and uid are required");
    }
    if (owner.controller && ++controllers > 1) {
      return Invalid("ownerReferences", owner.name, "only one reference may be the controller");
    }
  }
  return absl::OkStatus();
}

absl::Status CheckFinalizers(const Json& object) {
  for (const std::string& finalizer : FinalizersOf(object)) {
    if (!IsQualifiedName(finalizer))
      return Invalid("finalizers", finalizer, "not a qualified name");
  }
  return absl::OkStatus();
}

absl::Status CheckNamespace(const ResourceType& type, const Json& object) {
  const std::string name_space = NamespaceOf(object);
  if (!type.namespaced) {
    if (name_space.empty()) return absl::OkStatus();
    return Invalid("namespace", name_space, "not allowed on this type");
  }
  if (IsDnsLabel(name_space)) return absl::OkStatus();
  return Invalid("namespace", name_space, "not an RFC 1123 label");
}

}  // namespace

absl::Status CheckEnvelope(const ResourceType& type, Json& object) {
  if (!object.is_object()) return ApiError(Reason::kBadRequest, "an object must be a JSON object");
  const Json* meta = Find(object, {"metadata"});
  if (meta == nullptr || !meta->is_object()) {
    return ApiError(Reason::kBadRequest, "an object needs metadata");
  }
  const std::string version = StringAt(object, {"apiVersion"});
  const std::string kind = StringAt(object, {"kind"});
  if ((!version.empty() && version != type.ApiVersion()) || (!kind.empty() && kind != type.kind)) {
    return ApiError(Reason::kBadRequest,
                    absl::StrCat(version, " ", kind, " was sent where ", type.ApiVersion(), " ",
                                 std::string(type.kind), " is served"));
  }
  object["apiVersion"] = type.ApiVersion();
  object["kind"] = std::string(type.kind);
  for (const char* field : {"name", "namespace", "uid", "resourceVersion", "generateName"}) {
    const auto it = meta->find(field);
    if (it != meta->end() && !it->is_string()) {
      return ApiError(Reason::kBadRequest, absl::StrCat("metadata.", field, " must be a string"));
    }
  }
  MUSTER_RETURN_IF_ERROR(CheckStringMap(object, "labels"));
  return CheckStringMap(object, "annotations");
}

absl::Status ValidateMeta(const ResourceType& type, const Json& object) {
  const std::string name = NameOf(object);
  if (!IsDnsSubdomain(name)) {
    return Invalid("name", name,
                   "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric "
                   "characters, '-' or '.', and must start and end with an alphanumeric character");
  }
  MUSTER_RETURN_IF_ERROR(CheckNamespace(type, object));
  MUSTER_RETURN_IF_ERROR(CheckLabels(object));
  MUSTER_RETURN_IF_ERROR(CheckAnnotations(object));
  MUSTER_RETURN_IF_ERROR(CheckFinalizers(object));
  return CheckOwners(object);
}

absl::Status ValidateMetaUpdate(const Json& old_object, Json& object) {
  const std::string uid = UidOf(object);
  if (!uid.empty() && uid != UidOf(old_object)) {
    return ApiError(Reason::kConflict,
                    absl::StrCat("Precondition failed: UID in precondition: ", uid,
                                 ", UID in object meta: ", UidOf(old_object)));
  }
  Json& meta = object["metadata"];
  const Json& old_meta = old_object["metadata"];
  for (const char* field :
       {"uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds"}) {
    const auto before = old_meta.find(field);
    const auto after = meta.find(field);
    const bool absent = after == meta.end() || after->is_null();
    if (before != old_meta.end()) {
      meta[field] = *before;  // an attempt to change it is not an error
    } else if (absent) {
      meta.erase(field);
    } else {
      return Invalid(field, DumpJson(*after), "field is immutable");
    }
  }
  for (const char* field : {"generation", "generateName"}) {
    meta.erase(field);
    if (const auto it = old_meta.find(field); it != old_meta.end()) meta[field] = *it;
  }
  meta.erase("managedFields");
  if (!IsTerminating(old_object)) return absl::OkStatus();
  const std::vector<std::string> before = FinalizersOf(old_object);
  for (const std::string& finalizer : FinalizersOf(object)) {
    if (std::find(before.begin(), before.end(), finalizer) == before.end()) {
      return Invalid("finalizers", finalizer,
                     "no new finalizers can be added if the object is being deleted");
    }
  }
  return absl::OkStatus();
}

}  // namespace muster::kube
