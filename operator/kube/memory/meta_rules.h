#ifndef MUSTER_OPERATOR_KUBE_MEMORY_META_RULES_H_
#define MUSTER_OPERATOR_KUBE_MEMORY_META_RULES_H_

#include "absl/status/status.h"
#include "base/json.h"
#include "operator/kube/resource_type.h"

// The API server's rules for metadata, the same for every type. Pure.
namespace muster::kube {

// Checks apiVersion, kind and the shape of metadata, and fills in absent values. BadRequest if the
// object is of another kind.
absl::Status CheckEnvelope(const ResourceType& type, Json& object);

// Checks names, labels, annotations, finalizers and owners. Errors are Invalid and name the field's
// path.
absl::Status ValidateMeta(const ResourceType& type, const Json& object);

// Copies the fields that only the server sets from `old_object`. A change to one of them is
// Invalid. A different uid is a Conflict, since it means another object of the same name.
absl::Status ValidateMetaUpdate(const Json& old_object, Json& object);

}  // namespace muster::kube

#endif  // MUSTER_OPERATOR_KUBE_MEMORY_META_RULES_H_
