// Converts any bytes from YAML to a TrainingJob: no crash, no unbounded work, and an accepted
// manifest survives a round trip through JSON and stays valid.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/json.h"
#include "operator/api/codec.h"
#include "operator/api/defaults.h"
#include "operator/api/manifest.h"
#include "operator/api/training_job.h"
#include "operator/api/validation.h"

namespace muster::control {
namespace {

void Require(bool holds, const char* what) {
  if (holds) return;
  std::cerr << "broken: " << what << "\n";
  std::abort();
}

void Check(absl::string_view text) {
  ManifestResult result = ParseManifest(text);
  for (const ManifestError& error : result.errors) {
    Require(error.line >= 1, "an error has a line");
    Require(!error.message.empty(), "an error has a message");
  }
  if (!result.ok()) return;
  const Json json = ToJson(result.job);
  const absl::StatusOr<TrainingJob> again = ParseTrainingJob(json);
  Require(again.ok(), "an accepted job parses again");
  Require(ToJson(*again) == json, "the round trip changes nothing");
  v1alpha1::TrainingJobSpec spec = result.job.spec;
  Default(spec);
  Require(Validate(spec).empty(), "an accepted job is valid");
  const Json once = EncodeMessage(spec);
  Default(spec);
  Require(EncodeMessage(spec) == once, "defaulting is idempotent");
}

}  // namespace
}  // namespace muster::control

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  muster::control::Check(absl::string_view(reinterpret_cast<const char*>(data), size));
  return 0;
}
