#ifndef MUSTER_OPERATOR_API_BAD_MANIFEST_FIXTURE_H_
#define MUSTER_OPERATOR_API_BAD_MANIFEST_FIXTURE_H_

#include <string>

#include "gtest/gtest.h"
#include "operator/api/manifest.h"

// Every kind of faulty manifest is a case with the exact sentence and line that its author reads.
// The cases stand in bad_*_test.cc, by what is wrong; one test, BadManifest.SaysWhatIsWrong in
// bad_manifests_test.cc, tries them all.
namespace muster::control {

inline constexpr char kGoodManifest[] = R"(apiVersion: muster.dev/v1alpha1
kind: TrainingJob
metadata: {name: job}
spec:
  workers: {count: 2}
  trainer:
    model: {preset: gpt2-nano}
    data: {uri: corpus.txt}
    train: {steps: 100, globalBatch: 8, microBatch: 2, sequence: 128}
    optimizer: {name: adamw}
  checkpoint: {uri: out}
)";

struct ManifestCase {
  const char* name;
  const char* from;  // in kGoodManifest; empty: `to` is the whole manifest
  const char* to;
  const char* errors;
};

inline std::string ManifestErrors(const std::string& yaml) {
  return FormatErrors("job.yaml", ParseManifest(yaml).errors);
}

class BadManifest : public testing::TestWithParam<ManifestCase> {};

inline std::string CaseName(const testing::TestParamInfo<ManifestCase>& info) {
  return info.param.name;
}

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_API_BAD_MANIFEST_FIXTURE_H_
