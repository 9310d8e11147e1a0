#ifndef MUSTER_OPERATOR_KUBE_SELECTOR_H_
#define MUSTER_OPERATOR_KUBE_SELECTOR_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "base/json.h"
#include "operator/kube/resource_type.h"

namespace muster::kube {

// A label selector. All requirements must hold. Immutable.
class LabelSelector {
 public:
  // Parses "a=b, c==d, e!=f, g in (x, y), h notin (z), i, !j". An empty text selects everything.
  static absl::StatusOr<LabelSelector> Parse(std::string_view text);
  bool Matches(const Json& object) const;

 private:
  enum class Operator { kIn, kNotIn, kExists, kAbsent };
  struct Requirement {
    std::string key;
    Operator op = Operator::kExists;
    std::vector<std::string> values;
  };
  static absl::StatusOr<Requirement> ParseRequirement(std::string_view text);
  static absl::StatusOr<Requirement> ParseSet(std::string_view text);

  std::vector<Requirement> requirements_;
};

// A field selector on the fields that the API server indexes for a type. Immutable.
class FieldSelector {
 public:
  // Parses "metadata.name=a, spec.nodeName!=b". A field that the type does not support is
  // BadRequest.
  static absl::StatusOr<FieldSelector> Parse(const ResourceType& type, std::string_view text);
  bool Matches(const Json& object) const;

 private:
  struct Requirement {
    std::vector<std::string> path;
    std::string value;
    bool equal = true;
  };
  std::vector<Requirement> requirements_;
};

}  // namespace muster::kube

#endif  // MUSTER_OPERATOR_KUBE_SELECTOR_H_
