#include "operator/api/manifest.h"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>

#include "base/json.h"

namespace muster::control {
namespace {

std::string Read(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

TEST(ParseManifest, ReadsAJobAsWritten) {
  const ManifestResult result = ParseManifest(R"(
apiVersion: muster.dev/v1alpha1
kind: TrainingJob
metadata: {name: job, labels: {team: "7"}}
spec:
  workers: {count: 3}
  trainer:
    model: {preset: gpt2-mini}
    data: {uri: text}
    train: {steps: 1e3, globalBatch: 12}
    optimizer: {learningRate: 3.0e-4}
status: {round: 9}
)");
  ASSERT_TRUE(result.ok()) << FormatErrors("x", result.errors);
  EXPECT_EQ(result.job.name, "job");
  EXPECT_EQ(result.job.ns, "default");
  EXPECT_EQ(result.job.labels.at("team"), "7");
  EXPECT_EQ(result.job.spec.workers().count(), 3);
  EXPECT_FALSE(result.job.spec.workers().has_min());
  EXPECT_EQ(result.job.spec.trainer().train().steps(), 1000);
  EXPECT_FALSE(result.job.spec.trainer().train().has_micro_batch());
  EXPECT_EQ(result.job.spec.trainer().optimizer().learning_rate(), 3e-4);
  EXPECT_FALSE(result.job.status.has_round());
  EXPECT_FALSE(ToJson(result.job).contains("status"));
}

// Regression: the folder was `./file:`.
TEST(ParseManifest, AFileUriMeansThePath) {
  const ManifestResult result = ParseManifest(R"(
apiVersion: muster.dev/v1alpha1
kind: TrainingJob
metadata: {name: job}
spec:
  trainer:
    model: {preset: gpt2-mini, uri: "file:///models/a"}
    data: {uri: "file:///data/text.txt"}
    train: {steps: 1}
  checkpoint: {uri: "file:///checkpoints/job"}
)");
  ASSERT_TRUE(result.ok()) << FormatErrors("x", result.errors);
  EXPECT_EQ(result.job.spec.trainer().model().uri(), "/models/a");
  EXPECT_EQ(result.job.spec.trainer().data().uri(), "/data/text.txt");
  EXPECT_EQ(result.job.spec.checkpoint().uri(), "/checkpoints/job");
}

TEST(ParseManifest, KeepsTheTemplateWhole) {
  const ManifestResult result = ParseManifest(R"(
apiVersion: muster.dev/v1alpha1
kind: TrainingJob
metadata: {name: job}
spec:
  template:
    metadata: {labels: {a: b}}
    spec:
      nodeSelector: {disk: ssd}
      containers:
        - name: worker
          command: [python3, train.py]
          resources: {limits: {nvidia.com/gpu: 8}}
)");
  ASSERT_TRUE(result.ok()) << FormatErrors("x", result.errors);
  EXPECT_EQ(ToJson(result.job)["spec"]["template"], *ParseJson(R"({
    "metadata": {"labels": {"a": "b"}},
    "spec": {"nodeSelector": {"disk": "ssd"},
             "containers": [{"name": "worker", "command": ["python3", "train.py"],
                             "resources": {"limits": {"nvidia.com/gpu": 8}}}]}})"));
}

TEST(ParseManifest, ATooLargeManifestIsReported) {
  const ManifestResult result = ParseManifest(std::string(kMaxManifestBytes + 1, ' '));
  EXPECT_EQ(FormatErrors("job.yaml", result.errors),
            "job.yaml:1: is 1048577 bytes long; want at most 1048576\n");
}

TEST(ParseManifest, ManyErrorsComeInLineOrder) {
  const ManifestResult result = ParseManifest(
      "kind: TrainingJob\n"
      "spec:\n"
      "  checkpoint: {keep: 0}\n"
      "  workers: {count: x}\n"
      "  elastic: {stepDeadline: soon}\n");
  int last = 0;
  for (const ManifestError& error : result.errors) {
    EXPECT_GE(error.line, last);
    last = error.line;
  }
  EXPECT_EQ(result.errors.size(), 7u) << FormatErrors("job.yaml", result.errors);
}

TEST(Examples, AreAllValid) {
  for (const char* name : {"gpt-text", "llama-text", "bloom-text", "resume", "command", "gpt2-124m",
                           "failure-policy", "torchscript"}) {
    const std::string path = std::string("examples/") + name + ".yaml";
    const ManifestResult result = ParseManifest(Read(path));
    EXPECT_TRUE(result.ok()) << FormatErrors(path, result.errors);
    EXPECT_EQ(result.job.name, name);
  }
}

}  // namespace
}  // namespace muster::control
