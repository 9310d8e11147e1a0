#ifndef MUSTER_OPERATOR_RECONCILE_POD_POD_JSON_H_
#define MUSTER_OPERATOR_RECONCILE_POD_POD_JSON_H_

#include <cstddef>
#include <string>
#include <utility>

#include "base/json.h"
#include "operator/kube/object_meta.h"

// Edits of a pod's JSON, whose fields come from a user's template and may have any type. Pure.
namespace muster::control {

// Returns the object at `field`; creates it if it is absent or of another type.
inline Json& ObjectIn(Json& parent, const char* field) {
  Json& child = parent[field];
  if (!child.is_object()) child = Json::object();
  return child;
}

// Returns the list at `field`; creates it if it is absent or of another type.
inline Json& ListIn(Json& parent, const char* field) {
  Json& child = parent[field];
  if (!child.is_array()) child = Json::array();
  return child;
}

// Sets a field that is absent.
inline void SetIfAbsent(Json& object, const char* field, Json value) {
  if (!object.contains(field)) object[field] = std::move(value);
}

// Removes the items of `list` whose field `name` is `name`.
inline void DropNamed(Json& list, const std::string& name) {
  for (size_t i = list.size(); i > 0; --i) {
    if (kube::StringAt(list[i - 1], {"name"}) == name) list.erase(i - 1);
  }
}

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_RECONCILE_POD_POD_JSON_H_
