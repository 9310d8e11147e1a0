// Tests `kubectl muster`, found and run by kubectl itself, on a real API server.
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/exit_codes.h"
#include "base/files/files.h"
#include "base/json.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "operator/kube/api.h"
#include "operator/kube/resource_type.h"
#include "tests/testenv/test_cluster.h"

namespace muster {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kManifest[] = R"(apiVersion: muster.dev/v1alpha1
kind: TrainingJob
metadata: {name: counting}
spec:
  workers: {count: 2}
  template: {spec: {containers: [{name: worker, image: busybox, command: [sleep, "1"]}]}}
)";

constexpr char kTrainer[] = R"(apiVersion: muster.dev/v1alpha1
kind: TrainingJob
metadata: {name: counting}
spec:
  workers: {count: 2}
  trainer:
    model: {preset: gpt2-nano}
    data: {uri: /data/text.txt}
    train: {steps: 100, globalBatch: 8, microBatch: 2, sequence: 64}
  checkpoint: {uri: /checkpoints}
)";

class Plugin : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    cluster_ = tests::TestCluster::Create("plugin").value().release();
    ASSERT_EQ(cluster_->InstallCrd(), absl::OkStatus());
    // kubectl finds plugins on PATH, by their names.
    folder_ = testing::TempDir() + "/plugins";
    std::filesystem::create_directories(folder_);
    const std::string program = std::filesystem::absolute("cli/kubectl/kubectl-muster");
    for (const char* name : {"kubectl-muster", "kubectl_complete-muster"}) {
      std::filesystem::remove(folder_ + "/" + name);
      std::filesystem::create_symlink(program, folder_ + "/" + name);
    }
    setenv("PATH", absl::StrCat(folder_, ":", std::getenv("PATH")).c_str(), 1);
    setenv("KUBECONFIG", cluster_->kubeconfig().c_str(), 1);
  }
  static void TearDownTestSuite() { delete cluster_; }

  void SetUp() override {
    manifest_ = testing::TempDir() + "/job.yaml";
    ASSERT_TRUE(WriteFileAtomically(FileSystem(), manifest_, kManifest).ok());
  }
  void TearDown() override {
    EXPECT_TRUE(cluster_->Kubectl({"delete", "tj", "--all"}).value().ok());
  }

  // Runs `kubectl muster ...` in the test's namespace.
  static tests::CommandResult Run(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {cluster_->Program("kubectl"), "muster"});
    arguments.insert(arguments.end(), {"-n", cluster_->name_space()});
    return tests::TestCluster::Run(arguments).value();
  }
  static std::string Expect(const std::vector<std::string>& arguments) {
    const tests::CommandResult result = Run(arguments);
    EXPECT_TRUE(result.ok()) << result.err;
    return result.out;
  }
  static Json Job() { return cluster_->Get(kube::kTrainingJobs, "counting").value(); }
  // Waits until there is a job.
  static void AwaitJob() {
    kube::WatchOptions options;
    options.name_space = cluster_->name_space();
    options.bookmarks = false;
    const auto watcher = cluster_->api().Watch(kube::kTrainingJobs, options);
    ASSERT_TRUE(watcher.ok()) << watcher.status();
    const auto event = (*watcher)->Next(absl::Minutes(1));
    ASSERT_TRUE(event.ok()) << event.status();
    ASSERT_TRUE(event->has_value()) << "no job was created";
  }
  // Writes the status, as the operator would.
  static void SetStatus(const std::string& json) {
    Json job = Job();
    job["status"] = Json::parse(json);
    ASSERT_TRUE(cluster_->api().UpdateStatus(kube::kTrainingJobs, job).ok());
  }

  static tests::TestCluster* cluster_;
  static std::string folder_;
  std::string manifest_;
};

tests::TestCluster* Plugin::cluster_ = nullptr;
std::string Plugin::folder_;

constexpr char kTraining[] = R"({"state": "Training", "workers": {"desired": 2, "ready": 2},
    "progress": {"step": 42, "steps": 100, "loss": 3.25, "tokensPerSecond": 1000, "eta": "1m0s"},
    "checkpoint": {"step": 40, "uri": "/checkpoints/step-40", "time": "2026-01-01T00:00:00Z"},
    "conditions": [{"type": "Running", "status": "True", "reason": "RoundActive",
      "message": "round 1 is active", "lastTransitionTime": "2026-01-01T00:00:00Z"}]})";

TEST_F(Plugin, AJobIsCreatedShownAndChanged) {
  EXPECT_THAT(Expect({"run", manifest_, "-d"}), HasSubstr("job counting is created in namespace"));
  SetStatus(kTraining);
  const std::string table = Expect({"get"});
  for (const char* cell :
       {"NAME", "counting", "Training", "2/2", "42/100", "3.2500", "1k", "1m0s", "step 40"}) {
    EXPECT_THAT(table, HasSubstr(cell));
  }
  EXPECT_THAT(Expect({"top"}), HasSubstr("1 jobs"));
  EXPECT_THAT(Expect({"describe", "counting"}), HasSubstr("round 1 is active"));
  EXPECT_THAT(Expect({"checkpoints", "counting"}), HasSubstr("step 40, /checkpoints/step-40"));
  EXPECT_EQ(ParseJson(Expect({"get", "counting", "-o", "json"})).value()["status"]["state"],
            "Training");
  Expect({"suspend", "counting"});
  EXPECT_EQ(Job()["spec"]["suspend"], true);
  Expect({"resume", "counting"});
  EXPECT_EQ(Job()["spec"]["suspend"], false);
  Expect({"scale", "counting", "--workers=3"});
  EXPECT_EQ(Job()["spec"]["workers"]["count"], 3);
}

// The job keeps what it gains while it runs, and nothing is written that its schema refuses.
TEST_F(Plugin, ATuningIsAppendedInTheCallersName) {
  ASSERT_TRUE(WriteFileAtomically(FileSystem(), manifest_, kTrainer).ok());
  Expect({"run", manifest_, "-d"});
  EXPECT_EQ(Expect({"tune", "counting", "learningRate=1e-4", "clipNorm=0"}),
            "job counting: learning rate 0.0001, clip norm 0 from the next step that all ranks can "
            "begin with it on\n");
  Expect({"tune", "counting", "learningRate=2e-4", "--from-step=50"});
  Expect({"tune", "counting", "globalBatch=16"});
  const tests::CommandResult refused = Run({"tune", "counting", "clipNorm=-1"});
  EXPECT_EQ(refused.exit.code, kExitBadInput);
  EXPECT_THAT(refused.err, HasSubstr("spec.trainer.tunings[2].clipNorm"));
  const Json trainer = Job()["spec"]["trainer"];
  EXPECT_EQ(trainer["train"]["globalBatch"], 16);
  const Json& tunings = trainer["tunings"];
  ASSERT_EQ(tunings.size(), 2u) << tunings;
  EXPECT_EQ(tunings[0]["learningRate"], 1e-4);
  EXPECT_EQ(tunings[0]["clipNorm"], 0);
  EXPECT_FALSE(tunings[0]["by"].get<std::string>().empty());
  EXPECT_FALSE(tunings[0].contains("fromStep"));
  EXPECT_EQ(tunings[1]["fromStep"], 50);
  SetStatus(R"({"state": "Training", "tunings": [
      {"step": 41, "learningRate": 0.0001, "clipNorm": 0, "by": "anna"}]})");
  EXPECT_THAT(Expect({"describe", "counting"}),
              HasSubstr("learning rate 0.0001, clip norm 0 from step 41 (asked by anna)"));
}

TEST_F(Plugin, EventsAreThoseOfTheJobAlone) {
  Expect({"run", manifest_, "-d"});
  for (const char* name : {"counting", "other"}) {
    const Json event = {
        {"apiVersion", "v1"},
        {"kind", "Event"},
        {"metadata", {{"generateName", "e-"}, {"namespace", cluster_->name_space()}}},
        {"involvedObject",
         {{"kind", "TrainingJob"}, {"name", name}, {"namespace", cluster_->name_space()}}},
        {"type", "Normal"},
        {"reason", absl::StrCat("About-", name)},
        {"message", "a sentence"},
        {"lastTimestamp", "2026-01-01T00:00:00Z"}};
    ASSERT_TRUE(cluster_->api().Create(kube::kEvents, event).ok());
  }
  const std::string events = Expect({"events", "counting"});
  EXPECT_THAT(events, HasSubstr("About-counting"));
  EXPECT_THAT(events, Not(HasSubstr("About-other")));
}

TEST_F(Plugin, RunFollowsTheJobToItsEndWithPlainLinesInAPipe) {
  tests::CommandResult followed;
  std::thread run([&] { followed = Run({"run", manifest_}); });
  AwaitJob();
  SetStatus(kTraining);
  SetStatus(R"({"state": "Failed", "conditions": [{"type": "Failed", "status": "True",
    "reason": "MaxFailures", "message": "the 11th failure",
    "lastTransitionTime": "2026-01-01T00:00:00Z"}]})");
  run.join();
  EXPECT_EQ(followed.exit.code, kExitFailed);
  EXPECT_THAT(followed.out, HasSubstr("job counting has failed: the 11th failure"));
  EXPECT_THAT(followed.err, Not(HasSubstr("\033")));
}

TEST_F(Plugin, ARefusalNamesTheField) {
  Expect({"run", manifest_, "-d"});
  const tests::CommandResult again = Run({"run", manifest_, "-d"});
  EXPECT_EQ(again.exit.code, kExitRefused);
  EXPECT_THAT(again.err, HasSubstr("there is a job counting in namespace"));
  const tests::CommandResult scaled = Run({"scale", "counting", "--workers=100000"});
  EXPECT_NE(scaled.exit.code, kExitOk);
  EXPECT_THAT(scaled.err, HasSubstr("spec.workers.count"));
  ASSERT_TRUE(WriteFileAtomically(FileSystem(), manifest_, "kind: TrainingJob\nspec: 7\n").ok());
  const tests::CommandResult wrong = Run({"run", manifest_});
  EXPECT_EQ(wrong.exit.code, kExitBadInput);
  EXPECT_THAT(wrong.err, HasSubstr(manifest_ + ":"));
}

TEST_F(Plugin, AUserWithoutRightsIsToldWhichOneIsMissing) {
  const std::string kubeconfig = cluster_->ServiceAccountKubeconfig("nobody").value();
  const tests::CommandResult result = Run({"get", "--kubeconfig", kubeconfig});
  EXPECT_EQ(result.exit.code, kExitFailed);
  EXPECT_THAT(result.err, HasSubstr("cannot list resource \"trainingjobs\""));
}

// kubectl asks kubectl_complete-muster for what may stand in the line.
TEST_F(Plugin, KubectlCompletesTheNamesOfJobs) {
  Expect({"run", manifest_, "-d"});
  const tests::CommandResult result =
      tests::TestCluster::Run({cluster_->Program("kubectl"), "__complete", "muster", "describe",
                               "-n", cluster_->name_space(), "coun"})
          .value();
  EXPECT_TRUE(result.ok()) << result.err;
  EXPECT_THAT(result.out, HasSubstr("counting\n"));
}

}  // namespace
}  // namespace muster
