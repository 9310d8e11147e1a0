#ifndef MUSTER_OPERATOR_KUBE_OBJECT_RULES_H_
#define MUSTER_OPERATOR_KUBE_OBJECT_RULES_H_

#include <functional>
#include <vector>

#include "absl/status/status.h"
#include "base/json.h"
#include "operator/kube/resource_type.h"

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

}  // namespace muster::kube

#endif  // MUSTER_OPERATOR_KUBE_OBJECT_RULES_H_
