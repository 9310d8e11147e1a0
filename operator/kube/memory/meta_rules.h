#ifndef MUSTER_OPERATOR_KUBE_MEMORY_META_RULES_H_
#define MUSTER_OPERATOR_KUBE_MEMORY_META_RULES_H_

#include "absl/status/status.h"
#include "base/json.h"
#include "operator/kube/resource_type.h"

// What the API server demands of metadata, whatever the type. Pure.
namespace muster::kube {

// apiVersion, kind and the shape of metadata. BadRequest when another kind was sent; fills in what
// is absent.
absl::Status CheckEnvelope(const ResourceType& type, Json& object);

// Names, labels, annotations, finalizers and owners. Invalid, with the field's path.
absl::Status ValidateMeta(const ResourceType& type, const Json& object);

// Copies what only the server sets from `old_object`, and refuses changes to it: Invalid. A
// different uid is a Conflict: it is another object under the same name.
absl::Status ValidateMetaUpdate(const Json& old_object, Json& object);

}  // namespace muster::kube

#endif  // MUSTER_OPERATOR_KUBE_MEMORY_META_RULES_H_
