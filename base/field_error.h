#ifndef MUSTER_BASE_FIELD_ERROR_H_
#define MUSTER_BASE_FIELD_ERROR_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace muster {

// One thing that is wrong with one field of an object. The path is written as the user wrote the
// field: `spec.workers.count`, `spec.template.spec.containers[0].name`, `metadata.labels["a/b"]`.
// The message says what is wrong and what would be right, without the path.
struct FieldError {
  std::string path;
  std::string message;

  bool operator==(const FieldError&) const = default;
};

using FieldErrors = std::vector<FieldError>;

// One step into an object or list. Keys that are not plain names come out quoted, in brackets.
std::string FieldPath(absl::string_view parent, absl::string_view field);
std::string ItemPath(absl::string_view parent, size_t index);

// OK when empty, else InvalidArgument with every error, `; `-separated.
absl::Status ToStatus(const FieldErrors& errors);

}  // namespace muster

#endif  // MUSTER_BASE_FIELD_ERROR_H_
