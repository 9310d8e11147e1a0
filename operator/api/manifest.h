#ifndef MUSTER_OPERATOR_API_MANIFEST_H_
#define MUSTER_OPERATOR_API_MANIFEST_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "operator/api/training_job.h"

namespace muster::control {

inline constexpr size_t kMaxManifestBytes = size_t{1} << 20;

// One error in a manifest. `line` counts from 1; for a missing field it is the line of the nearest
// enclosing field that is there.
struct ManifestError {
  int line = 0;
  std::string path;  // empty if the text is not YAML
  std::string message;

  bool operator==(const ManifestError&) const = default;
};

struct ManifestResult {
  // The job as written, without defaults; meaningful only if ok().
  TrainingJob job;
  // All errors, in line order.
  std::vector<ManifestError> errors;

  bool ok() const { return errors.empty(); }
};

// Parses the untrusted YAML (or JSON) text of one TrainingJob. Finds all errors at once: text that
// is not YAML, unknown fields, wrong types, values out of range, fields that contradict each other.
// A job without errors is accepted by Validate(). An absent namespace becomes `default`, and a
// `status` is dropped.
ManifestResult ParseManifest(absl::string_view yaml);

// Returns `file:line: field: message`.
std::string FormatError(absl::string_view file, const ManifestError& error);
// Formats one error per line; every line ends in a newline.
std::string FormatErrors(absl::string_view file, const std::vector<ManifestError>& errors);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_API_MANIFEST_H_
