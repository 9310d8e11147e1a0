#ifndef MUSTER_OPERATOR_KUBE_FIELD_MASK_H_
#define MUSTER_OPERATOR_KUBE_FIELD_MASK_H_

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"

namespace muster::kube {

// Which fields of an object its reader needs. A path names a field and all below it; lists are
// passed through, so that "spec.containers.resources" is that of each container; a key with dots
// stands in brackets:
//
//   const FieldMask mask({"spec.nodeName", "metadata.labels[muster.dev/job]", "status"});
//
// Of every object there is also what tells it from others: apiVersion, kind, and of its metadata
// name, namespace, uid and resourceVersion. What is empty may be left out: it is one with what is
// not there. Immutable, so thread-safe.
class FieldMask {
 public:
  struct Node {
    bool whole = false;  // everything below; no children then
    std::map<std::string, Node, std::less<>> children;
  };

  explicit FieldMask(const std::vector<std::string_view>& paths);

  const Node& root() const { return root_; }
  // What the mask selects of an object. Where nothing is left of an object or list, it is left out.
  Json Select(const Json& object) const;

 private:
  void Add(std::string_view path);

  Node root_;
};

// All of it when `fields` is null. A reader that was promised some fields only is not given others
// by chance.
Json SelectFields(const FieldMask* fields, const Json& object);

// The fields that every object has, for callers that want to know which object and version it is.
const FieldMask& IdentityFields();

}  // namespace muster::kube

#endif  // MUSTER_OPERATOR_KUBE_FIELD_MASK_H_
