#ifndef MUSTER_OPERATOR_KUBE_FIELD_MASK_H_
#define MUSTER_OPERATOR_KUBE_FIELD_MASK_H_

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"

namespace muster::kube {

// The fields of an object that its reader needs. A path names a field and everything below it; a
// path goes through lists, so "spec.containers.resources" selects the resources of every container;
// a key with dots is put in brackets:
//
//   const FieldMask mask({"spec.nodeName", "metadata.labels[muster.dev/job]", "status"});
//
// The fields that identify an object are always selected: apiVersion, kind, and name, namespace,
// uid and resourceVersion of its metadata. Empty values may be left out; a reader must not
// distinguish them from absent ones. Immutable, so thread-safe.
class FieldMask {
 public:
  struct Node {
    bool whole = false;  // everything below is selected; no children
    std::map<std::string, Node, std::less<>> children;
  };

  explicit FieldMask(const std::vector<std::string_view>& paths);

  const Node& root() const { return root_; }
  // Returns the selected part of an object. Objects and lists that become empty are left out.
  Json Select(const Json& object) const;

 private:
  void Add(std::string_view path);

  Node root_;
};

// Returns the selected part of an object, or all of it if `fields` is null. A caller that asked for
// some fields must not get others by accident.
Json SelectFields(const FieldMask* fields, const Json& object);

// Selects only the identifying fields, for callers that need to know which object and version it
// is.
const FieldMask& IdentityFields();

}  // namespace muster::kube

#endif  // MUSTER_OPERATOR_KUBE_FIELD_MASK_H_
