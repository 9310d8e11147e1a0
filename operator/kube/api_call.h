#ifndef MUSTER_OPERATOR_KUBE_API_CALL_H_
#define MUSTER_OPERATOR_KUBE_API_CALL_H_

#include <string_view>

#include "base/json.h"
#include "operator/kube/object_meta.h"
#include "operator/kube/resource_type.h"

namespace muster::kube {

enum class Verb {
  kGet,
  kList,
  kWatch,
  kWatchNext,
  kCreate,
  kCreateSubresource,
  kUpdate,
  kUpdateStatus,
  kPatch,
  kDelete,
  kBind,
};

// Returns a string with static storage. A subresource's creation is "create", as in the metrics.
std::string_view Name(Verb verb);
bool IsWrite(Verb verb);

// Describes one call to an Api for InterceptedApi::Intercept. Refers to the caller's arguments.
struct ApiCall {
  Verb verb;
  const ResourceType& type;
  const ObjectKey* key = nullptr;  // null for lists and watches, and if `object` holds the key
  const Json* object = nullptr;    // the object written, or the patch
  bool from_start = false;         // a list's first page, or a watch that lists first

  // Returns the key of the object that is read or written; empty for a list or a watch.
  ObjectKey Key() const;
};

}  // namespace muster::kube

#endif  // MUSTER_OPERATOR_KUBE_API_CALL_H_
