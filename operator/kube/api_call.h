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
  kPatchMetadata,
  kDelete,
  kBind,
};

// Static; of a subresource's creation "create", as metrics have it.
std::string_view NameOf(Verb verb);
bool IsWrite(Verb verb);

// A call of an Api as those see it that stand in its way. Refers to the caller's arguments.
struct ApiCall {
  Verb verb;
  const ResourceType& type;
  const ObjectKey* key = nullptr;  // null: it is in the object, or there is none
  const Json* object = nullptr;    // what is written or, of a patch, merged
  bool from_start = false;         // a list's first page, or a watch that lists first

  // Empty of a list or a watch.
  ObjectKey Key() const;
};

}  // namespace muster::kube

#endif  // MUSTER_OPERATOR_KUBE_API_CALL_H_
