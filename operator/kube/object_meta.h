#ifndef MUSTER_OPERATOR_KUBE_OBJECT_META_H_
#define MUSTER_OPERATOR_KUBE_OBJECT_META_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/json.h"
#include "operator/kube/resource_type.h"

// Reads and writes the ObjectMeta of a JSON object. Readers return an empty value if a field is
// absent or of another type; they never throw.
namespace muster::kube {

using Labels = std::map<std::string, std::string>;

// The namespace is empty for cluster-scoped objects.
struct ObjectKey {
  std::string name_space;
  std::string name;

  friend auto operator<=>(const ObjectKey&, const ObjectKey&) = default;
  template <typename H>
  friend H AbslHashValue(H h, const ObjectKey& k) {
    return H::combine(std::move(h), k.name_space, k.name);
  }
};
std::string ToString(const ObjectKey& key);  // "ns/name", or "name" when cluster-scoped

struct OwnerReference {
  std::string api_version;
  std::string kind;
  std::string name;
  std::string uid;
  bool controller = false;
  bool block_owner_deletion = false;
};

std::string NameOf(const Json& object);
std::string NamespaceOf(const Json& object);
ObjectKey KeyOf(const Json& object);
std::string UidOf(const Json& object);
std::string ResourceVersionOf(const Json& object);
int64_t GenerationOf(const Json& object);
Labels LabelsOf(const Json& object);
Labels AnnotationsOf(const Json& object);
std::string LabelOf(const Json& object, std::string_view key);
std::string AnnotationOf(const Json& object, std::string_view key);
std::vector<std::string> FinalizersOf(const Json& object);
std::vector<OwnerReference> OwnersOf(const Json& object);
std::optional<OwnerReference> ControllerOf(const Json& object);
std::optional<absl::Time> CreationTimeOf(const Json& object);
std::optional<absl::Time> DeletionTimeOf(const Json& object);
std::optional<int64_t> DeletionGraceOf(const Json& object);
inline bool IsTerminating(const Json& object) { return DeletionTimeOf(object).has_value(); }

// Returns {"apiVersion", "kind", "metadata": {"namespace", "name"}}.
Json NewObject(const ResourceType& type, const ObjectKey& key);
void SetName(Json& object, std::string_view name);
void SetLabel(Json& object, std::string_view key, std::string_view value);
void SetAnnotation(Json& object, std::string_view key, std::string_view value);
void SetResourceVersion(Json& object, std::string_view version);
// An empty list removes the field.
void SetFinalizers(Json& object, const std::vector<std::string>& finalizers);
void SetOwners(Json& object, const std::vector<OwnerReference>& owners);
// Returns a controller reference to `owner`, which must have a uid.
OwnerReference ControllerReferenceTo(const ResourceType& type, const Json& owner);

// Returns the string at a path of object keys, or "" if absent. For example,
// StringAt(pod, {"spec", "nodeName"}).
std::string StringAt(const Json& object, std::initializer_list<std::string_view> path);
// Returns the value at a path of object keys, or nullptr if absent.
const Json* Find(const Json& object, std::initializer_list<std::string_view> path);

// Format a time as Kubernetes does, in UTC: Time has seconds, MicroTime (Lease, Event) six digits
// of a second. Write kube:: before the call, since argument-dependent lookup also finds absl's.
std::string FormatTime(absl::Time time);
std::string FormatMicroTime(absl::Time time);
std::optional<absl::Time> ParseTime(std::string_view text);

// Parses a resourceVersion. Versions of one server are comparable numbers (documented since
// Kubernetes 1.35). An empty string is 0; anything else that is not a number is kInvalidArgument.
absl::StatusOr<uint64_t> ParseResourceVersion(std::string_view version);

}  // namespace muster::kube

#endif  // MUSTER_OPERATOR_KUBE_OBJECT_META_H_
