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

// What the API server does to an object on its way in. Pure.
namespace muster::kube {

enum class Operation { kCreate, kUpdate, kUpdateStatus };

// Defaults and validates one object, as a CRD's schema or a built-in type's strategy does. `old` is
// null on create. Return ApiError(Reason::kInvalid, ...) to refuse. Must be pure.
using Admission =
    std::function<absl::Status(Operation operation, Json& object, const Json* old_object)>;

struct Resource {
  ResourceType type;
  Admission admission;  // may be empty
};

// Pods, nodes, events, leases, secrets, config maps and training jobs (the last without a schema:
// replace its admission).
std::vector<Resource> BuiltinResources();
// BuiltinResources() with `admission` for `type`.
std::vector<Resource> ResourcesWith(const ResourceType& type, Admission admission);

// The object as it will be stored, without a resourceVersion. Its name is already generated.
absl::StatusOr<Json> PrepareCreate(const Resource& resource, Json object, const std::string& uid,
                                   absl::Time now);
// The same for an update of everything but status, and of status alone. The resourceVersion is the
// one the caller sent.
absl::StatusOr<Json> PrepareUpdate(const Resource& resource, const Json& old_object, Json object);
absl::StatusOr<Json> PrepareStatusUpdate(const Resource& resource, const Json& old_object,
                                         const Json& object);

// False where the real server demands a resourceVersion on every update.
bool AllowsUnconditionalUpdate(const ResourceType& type);

}  // namespace muster::kube

#endif  // MUSTER_OPERATOR_KUBE_MEMORY_OBJECT_RULES_H_
