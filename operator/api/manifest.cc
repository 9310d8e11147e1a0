#include "operator/api/manifest.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/field_error.h"
#include "base/json.h"
#include "base/yaml/yaml_adapter.h"
#include "operator/api/codec.h"
#include "operator/api/defaults.h"
#include "operator/api/validation.h"

namespace muster::control {
namespace {

constexpr char kDefaultNamespace[] = "default";

// Validates the job with schema defaults, under the root message that carries the rule of its name.
FieldErrors ValidateJob(const TrainingJob& job, const FieldErrors& unread) {
  v1alpha1::TrainingJob root;
  root.mutable_metadata()->set_name(job.name);
  if (job.raw.is_object() && job.raw.contains("spec") && !job.raw["spec"].is_null()) {
    *root.mutable_spec() = job.spec;
    // Derived defaults stay out: they would repeat the errors of what they are derived from.
    DefaultFromSchema(*root.mutable_spec());
  }
  FieldErrors errors = Validate(root, unread);
  const bool named = std::none_of(unread.begin(), unread.end(), [](const FieldError& error) {
    return error.path == "metadata" || error.path == "metadata.name";
  });
  if (job.name.empty() && named) {
    errors.push_back({"metadata.name", "is required and missing"});
  }
  return errors;
}

bool Covers(absl::string_view outer, absl::string_view inner) {
  return absl::StartsWith(inner, outer) &&
         (inner.size() == outer.size() || inner[outer.size()] == '.' || inner[outer.size()] == '[');
}

// Adds new errors. A field that could not be read is not also reported as missing or wrong, nor are
// the fields inside it.
void AddNew(FieldErrors found, FieldErrors& errors) {
  const size_t unread = errors.size();
  for (FieldError& error : found) {
    const bool said =
        std::any_of(errors.begin(), errors.begin() + unread,
                    [&error](const FieldError& other) { return Covers(other.path, error.path); });
    if (!said) errors.push_back(std::move(error));
  }
}

bool HasPath(const std::vector<YamlError>& errors, const std::string& path) {
  return std::any_of(errors.begin(), errors.end(),
                     [&path](const YamlError& error) { return error.path == path; });
}

void SortByLine(std::vector<ManifestError>& errors) {
  std::stable_sort(errors.begin(), errors.end(), [](const auto& a, const auto& b) {
    return a.line != b.line ? a.line < b.line : a.path < b.path;
  });
}

}  // namespace

ManifestResult ParseManifest(absl::string_view yaml) {
  ManifestResult result;
  YamlLimits limits;
  limits.bytes = kMaxManifestBytes;
  limits.as_kubectl = true;
  const YamlDocument document = ParseYaml(yaml, limits);
  for (const YamlError& error : document.errors) {
    result.errors.push_back({error.line, error.path, error.message});
  }
  if (!document.readable) return result;
  if (document.json.is_null()) {
    result.errors.push_back({1, "", "is empty; want a TrainingJob"});
    return result;
  }
  FieldErrors errors = DecodeTrainingJob(document.json, UnknownFields::kReport, result.job);
  // Skips the rules for an object of another kind: every field would be reported as wrong.
  const bool foreign = std::any_of(errors.begin(), errors.end(), [](const FieldError& error) {
    return error.path.empty() || error.path == "kind";
  });
  if (!foreign) AddNew(ValidateJob(result.job, errors), errors);
  for (FieldError& error : errors) {
    if (HasPath(document.errors, error.path)) continue;
    const int line = std::max(1, LineOf(document.source, error.path));
    result.errors.push_back({line, std::move(error.path), std::move(error.message)});
  }
  SortByLine(result.errors);
  if (result.job.ns.empty()) result.job.ns = kDefaultNamespace;
  result.job.status.Clear();
  result.job.raw.erase("status");
  return result;
}

std::string FormatError(absl::string_view file, const ManifestError& error) {
  return absl::StrCat(file, ":", error.line, ": ", error.path, error.path.empty() ? "" : ": ",
                      error.message);
}

std::string FormatErrors(absl::string_view file, const std::vector<ManifestError>& errors) {
  std::string out;
  for (const ManifestError& error : errors) absl::StrAppend(&out, FormatError(file, error), "\n");
  return out;
}

}  // namespace muster::control
