#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/json.h"
#include "base/yaml/yaml_scalar.h"
#include "tests/testenv/test_cluster.h"

// Tests the usual kubectl operations on a TrainingJob, on a real API server.

namespace muster {
namespace {

class Kubectl : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    cluster_ = tests::TestCluster::Create("kubectl").value().release();
    ASSERT_EQ(cluster_->InstallCrd(), absl::OkStatus());
  }
  static void TearDownTestSuite() { delete cluster_; }

  void SetUp() override {
    Expect({"apply", "-f", std::filesystem::absolute("tests/crd/good.yaml")});
  }
  void TearDown() override { Expect({"delete", "tj", "--all"}); }

  static tests::CommandResult Run(const std::vector<std::string>& arguments) {
    return cluster_->Kubectl(arguments).value();
  }
  // Runs kubectl, expects exit code 0, and returns its output.
  static std::string Expect(const std::vector<std::string>& arguments) {
    const tests::CommandResult result = Run(arguments);
    EXPECT_TRUE(result.ok()) << result.err;
    return result.out;
  }
  static std::string Field(const std::string& path) {
    return Expect({"get", "tj", "job", "-o", absl::StrCat("jsonpath={", path, "}")});
  }
  static std::string WriteFile(const std::string& name, const std::string& text) {
    const std::string path = absl::StrCat(testing::TempDir(), "/", name);
    std::ofstream(path) << text;
    return path;
  }
  static void SetStatus(const std::string& json) {
    Expect({"patch", "tj", "job", "--subresource=status", "--type=merge", "-p",
            absl::StrCat(R"({"status":)", json, "}")});
  }

  static tests::TestCluster* cluster_;
};

tests::TestCluster* Kubectl::cluster_ = nullptr;

TEST_F(Kubectl, GetShowsHowTheJobStands) {
  SetStatus(R"({"state": "Training", "workers": {"desired": 2, "ready": 2},
                "progress": {"step": 42, "loss": 3.25, "tokensPerSecond": 1000.5}})");
  const std::string table = Expect({"get", "tj", "job"});
  for (const char* word : {"NAME", "STATE", "WORKERS", "STEP", "LOSS", "TOKENS/S", "AGE",
                           "Training", "42", "3.25", "1000.5"}) {
    EXPECT_TRUE(absl::StrContains(table, word)) << word << "\n" << table;
  }
  EXPECT_TRUE(absl::StrContains(Expect({"get", "all"}), "trainingjob.muster.dev/job"));
}

TEST_F(Kubectl, DescribeShowsConditionsWithTheirReasons) {
  SetStatus(R"({"conditions": [{"type": "Suspended", "status": "True", "reason": "ByUser",
                "message": "spec.suspend is set", "lastTransitionTime": "2026-01-01T00:00:00Z"}]})");
  const std::string text = Expect({"describe", "tj", "job"});
  EXPECT_TRUE(absl::StrContains(text, "ByUser")) << text;
  EXPECT_TRUE(absl::StrContains(text, "spec.suspend is set")) << text;
}

TEST_F(Kubectl, ExplainDescribesEveryField) {
  EXPECT_TRUE(absl::StrContains(Expect({"explain", "tj.spec.workers.count"}),
                                "The desired number of workers."));
  const std::string all = Expect({"explain", "tj.spec", "--recursive"});
  for (const char* field : {"globalBatch", "orphanDeadline", "maxFailures", "learningRate"}) {
    EXPECT_TRUE(absl::StrContains(all, field)) << field;
  }
}

TEST_F(Kubectl, WaitEndsWithTheCondition) {
  SetStatus(R"({"conditions": [{"type": "Succeeded", "status": "True", "reason": "TrainingFinished",
                "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z"}]})");
  Expect({"wait", "tj/job", "--for=condition=Succeeded", "--timeout=150s"});
}

TEST_F(Kubectl, ScaleSetsTheWorkers) {
  Expect({"scale", "tj/job", "--replicas=3"});
  EXPECT_EQ(Field(".spec.workers.count"), "3");
  SetStatus(R"({"workers": {"desired": 3, "ready": 2}, "selector": "muster.dev/job=job"})");
  const Json scale =
      ParseJson(Expect({"get", "tj", "job", "--subresource=scale", "-o", "json"})).value();
  EXPECT_EQ(scale["spec"]["replicas"], 3);
  EXPECT_EQ(scale["status"]["selector"], "muster.dev/job=job");
}

TEST_F(Kubectl, ScaleBeyondTheBatchIsRefused) {
  const tests::CommandResult result = Run({"scale", "tj/job", "--replicas=5"});
  EXPECT_FALSE(result.ok());
  EXPECT_TRUE(absl::StrContains(result.err, "every rank needs a micro-batch")) << result.err;
  EXPECT_EQ(Field(".spec.workers.count"), "2");
}

TEST_F(Kubectl, EditChangesTheJob) {
  ::setenv("KUBE_EDITOR", "sed -i s/steps:.100/steps:\\ 150/", 1);
  Expect({"edit", "tj", "job"});
  EXPECT_EQ(Field(".spec.trainer.train.steps"), "150");
}

TEST_F(Kubectl, AWriteOfTheJobLeavesItsStatusAlone) {
  Expect({"patch", "tj", "job", "--type=merge", "-p", R"({"status": {"state": "Succeeded"}})"});
  EXPECT_EQ(Field(".status.state"), "");
}

TEST_F(Kubectl, TheGenerationCountsChangesOfTheSpecAlone) {
  const std::string before = Field(".metadata.generation");
  SetStatus(R"({"state": "Training"})");
  EXPECT_EQ(Field(".metadata.generation"), before);
  Expect({"patch", "tj", "job", "--type=merge", "-p", R"({"spec": {"suspend": true}})"});
  EXPECT_NE(Field(".metadata.generation"), before);
}

TEST_F(Kubectl, TwoManagersOwnTheirOwnFields) {
  const std::string steps = WriteFile("steps.yaml", R"(apiVersion: muster.dev/v1alpha1
kind: TrainingJob
metadata: {name: shared}
spec:
  workers: {count: 2}
  trainer:
    model: {preset: gpt2-nano}
    data: {uri: corpus.txt}
    train: {steps: 100, globalBatch: 8, microBatch: 2, sequence: 128}
)");
  const std::string saves = WriteFile("saves.yaml", R"(apiVersion: muster.dev/v1alpha1
kind: TrainingJob
metadata: {name: shared}
spec:
  checkpoint: {uri: out}
)");
  Expect({"apply", "--server-side", "--field-manager=author", "-f", steps});
  Expect({"apply", "--server-side", "--field-manager=platform", "-f", saves});
  // When the author applies again without the other manager's fields, those stay.
  Expect({"apply", "--server-side", "--field-manager=author", "-f", steps});
  EXPECT_EQ(Expect({"get", "tj", "shared", "-o", "jsonpath={.spec.checkpoint.uri}"}), "out");

  const std::string other = WriteFile("other.yaml", R"(apiVersion: muster.dev/v1alpha1
kind: TrainingJob
metadata: {name: shared}
spec:
  workers: {count: 4}
)");
  const tests::CommandResult conflict =
      Run({"apply", "--server-side", "--field-manager=platform", "-f", other});
  EXPECT_FALSE(conflict.ok());
  EXPECT_TRUE(absl::StrContains(conflict.err, "conflict with \"author\"")) << conflict.err;
  EXPECT_TRUE(absl::StrContains(conflict.err, ".spec.workers.count")) << conflict.err;
}

// The largest job that the schema allows must stay within the server's limit on the cost of CEL
// rules.
TEST_F(Kubectl, TheLargestTemplateFitsTheCostOfTheRules) {
  Json containers = Json::array();
  for (int c = 0; c < 16; ++c) {
    Json env = Json::array();
    for (int e = 0; e < 512; ++e) env.push_back({{"name", absl::StrCat("V", e)}, {"value", "x"}});
    containers.push_back({{"name", c == 0 ? "worker" : absl::StrCat("side-", c)},
                          {"command", Json::array({"python3", "train.py"})},
                          {"env", env}});
  }
  const Json job = {
      {"apiVersion", "muster.dev/v1alpha1"},
      {"kind", "TrainingJob"},
      {"metadata", {{"name", "large"}}},
      {"spec",
       {{"workers", {{"count", 5000}}}, {"template", {{"spec", {{"containers", containers}}}}}}}};
  Expect({"create", "-f", WriteFile("large.json", DumpJson(job))});
}

// Returns the special words of YAML 1.1, and all texts of one to four characters that may occur in
// numbers.
std::vector<std::string> Scalars() {
  std::vector<std::string> scalars = {"yes",   "Yes",  "yEs",   "y",      "N", "no",
                                      "on",    "oN",   "off",   "OFF",    "~", "null",
                                      "False", "tRue", "12:30", "1_000.5"};
  std::vector<std::string> longest = {""};
  for (int length = 1; length <= 4; ++length) {
    std::vector<std::string> next;
    for (const std::string& start : longest) {
      for (const char letter : absl::string_view("018xob_.e-+")) next.push_back(start + letter);
    }
    scalars.insert(scalars.end(), next.begin(), next.end());
    longest = std::move(next);
  }
  // These are no scalars, but marks.
  std::erase_if(scalars, [](const std::string& text) {
    return text == "-" || absl::StartsWith(text, "---");
  });
  return scalars;
}

// Regression: kubectl reads YAML 1.1, and `kubectl muster run` sent text for 0400, no and 1_000.
TEST_F(Kubectl, EachScalarThatItReadsInAnotherWayIsKnown) {
  const std::vector<std::string> scalars = Scalars();
  std::string text = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\nscalars:\n";
  for (size_t i = 0; i < scalars.size(); ++i)
    absl::StrAppend(&text, "  k", i, ": ", scalars[i], "\n");
  const std::string read =
      Expect({"annotate", "--local", "-f", WriteFile("scalars.yaml", text), "a=b", "-o", "json"});
  const Json theirs = ParseJson(read).value()["scalars"];
  for (size_t i = 0; i < scalars.size(); ++i) {
    const Json& there = theirs[absl::StrCat("k", i)];
    EXPECT_EQ(OtherValueForKubectl(scalars[i]).value_or(ResolvePlainScalar(scalars[i])), there)
        << scalars[i];
  }
}

}  // namespace
}  // namespace muster
