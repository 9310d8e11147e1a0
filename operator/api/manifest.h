#ifndef MUSTER_OPERATOR_API_MANIFEST_H_
#define MUSTER_OPERATOR_API_MANIFEST_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "operator/api/training_job.h"

namespace muster::control {

inline constexpr size_t kMaxManifestBytes = size_t{1} << 20;

// One thing that is wrong with a manifest. `line` counts from 1; for a field that is missing it is
// the line of the nearest enclosing one that is there.
struct ManifestError {
  int line = 0;
  std::string path;  // empty when the text is no YAML
  std::string message;

  bool operator==(const ManifestError&) const = default;
};

struct ManifestResult {
  // As written, without defaults; meaningful only when ok().
  TrainingJob job;
  // All that is wrong, in line order.
  std::vector<ManifestError> errors;

  bool ok() const { return errors.empty(); }
};

// YAML (or JSON) text of one TrainingJob, untrusted. Finds every error at once: no YAML at all,
// unknown fields, wrong types, values out of range, fields that contradict each other. A job that
// comes out is one that Validate() accepts. The namespace is `default` when absent; a `status` is
// dropped.
ManifestResult ParseManifest(absl::string_view yaml);

// `file:line: field: what is wrong and what would be right`.
std::string FormatError(absl::string_view file, const ManifestError& error);
// One line each, ending in a newline.
std::string FormatErrors(absl::string_view file, const std::vector<ManifestError>& errors);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_API_MANIFEST_H_
