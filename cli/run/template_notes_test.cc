#include "cli/run/template_notes.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "operator/api/manifest.h"

namespace muster::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<std::string> Notes(const std::string& pod) {
  const control::ManifestResult manifest = control::ParseManifest(
      "apiVersion: muster.dev/v1alpha1\nkind: TrainingJob\nmetadata: {name: job}\n"
      "spec:\n  workers: {count: 1}\n  template:\n    spec: " +
      pod + "\n");
  EXPECT_TRUE(manifest.ok()) << control::FormatErrors("job.yaml", manifest.errors);
  return PartsWithoutEffectHere(manifest.job.spec);
}

// Regression: the job succeeded, or its command failed, without a word about them.
TEST(TemplateNotesTest, EachPartWithoutEffectHereIsNamed) {
  EXPECT_THAT(
      Notes("{hostAliases: [{ip: 10.0.0.1}], initContainers: [{name: fetch}, {name: unpack}], "
            "containers: [{name: log}, {name: worker, command: [x], livenessProbe: {exec: {}}, "
            "lifecycle: {}, volumeMounts: [{name: s, mountPath: /scratch}, {name: d, mountPath: "
            "/data}]}], volumes: [{name: s, emptyDir: {}}, {name: d, hostPath: {path: /mnt/d}}]}"),
      ElementsAre("initContainers are not run on this machine: fetch, unpack",
                  "containers beside the worker are not run on this machine: log",
                  "the volume s (emptyDir) is not mounted on this machine: /scratch is the "
                  "machine's own",
                  "the volume d (hostPath) is not mounted on this machine: /data is the machine's "
                  "own",
                  "livenessProbe of the worker has no effect on this machine",
                  "hostAliases of the template has no effect on this machine"));
}

TEST(TemplateNotesTest, WhatIsTheSameHereIsNotNamed) {
  EXPECT_THAT(Notes("{nodeSelector: {a: b}, containers: [{name: worker, image: x, command: [x], "
                    "env: [{name: A, value: b}], resources: {requests: {cpu: 1}}, volumeMounts: "
                    "[{name: m, mountPath: /dev/shm}, {name: d, mountPath: /data}]}], volumes: "
                    "[{name: m, emptyDir: {medium: Memory}}, {name: d, hostPath: {path: /data}}]}"),
              IsEmpty());
  EXPECT_THAT(PartsWithoutEffectHere({}), IsEmpty());
}

}  // namespace
}  // namespace muster::cli
