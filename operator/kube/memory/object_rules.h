#ifndef MUSTER_OPERATOR_KUBE_MEMORY_OBJECT_RULES_H_
#define MUSTER_OPERATOR_KUBE_MEMORY_OBJECT_RULES_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/json.h"
#include "operator/kube/resource_type.h"

// The API server's processing of an object before it is stored. Pure.
namespace muster::kube {

enum class Operation { kCreate, kUpdate, kUpdateStatus };

// Defaults and validates one object, like a CRD's schema or a built-in type's strategy.
// `old_object` is null on create. Rejects an object with ApiError(Reason::kInvalid, ...). Must be
// pure.
using Admission =
    std::function<absl::Status(Operation operation, Json& object, const Json* old_object)>;

struct Resource {
  ResourceType type;
  Admission admission;  // may be empty
};

// Returns the types that MemoryApi serves by default. Those of muster.dev have no schema here:
// replace their admission.
std::vector<Resource> BuiltinResources();
// Returns BuiltinResources() with `admission` for `type`.
std::vector<Resource> ResourcesWith(const ResourceType& type, Admission admission);

// Returns the object as it will be stored, without a resourceVersion. Its name must already be
// generated.
absl::StatusOr<Json> PrepareCreate(const Resource& resource, Json object, const std::string& uid,
                                   absl::Time now);
// Do the same for an update of everything except status, and for an update of status alone. The
// resourceVersion is the one that the caller sent.
absl::StatusOr<Json> PrepareUpdate(const Resource& resource, const Json& old_object, Json object);
absl::StatusOr<Json> PrepareStatusUpdate(const Resource& resource, const Json& old_object,
                                         const Json& object);

// Returns false for a type whose updates need a resourceVersion on the real server.
bool AllowsUnconditionalUpdate(const ResourceType& type);

}  // namespace muster::kube

#endif  // MUSTER_OPERATOR_KUBE_MEMORY_OBJECT_RULES_H_
