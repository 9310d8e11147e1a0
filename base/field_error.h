#ifndef MUSTER_BASE_FIELD_ERROR_H_
#define MUSTER_BASE_FIELD_ERROR_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace muster {

// One error in one field of an object. The path is spelled as the user wrote the field:
// `spec.workers.count`, `spec.template.spec.containers[0].name`, `metadata.labels["a/b"]`. The
// message states what is wrong and what would be right, without the path.
struct FieldError {
  std::string path;
  std::string message;

  bool operator==(const FieldError&) const = default;
};

using FieldErrors = std::vector<FieldError>;

// Extend a path by one step into an object or a list. Keys that are not plain names come out
// quoted, in brackets.
std::string FieldPath(absl::string_view parent, absl::string_view field);
std::string ItemPath(absl::string_view parent, size_t index);

// Returns OK if `errors` is empty, else InvalidArgument with all of them, separated by "; ".
absl::Status ToStatus(const FieldErrors& errors);

}  // namespace muster

#endif  // MUSTER_BASE_FIELD_ERROR_H_
