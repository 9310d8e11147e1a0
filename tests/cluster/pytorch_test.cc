// The scripts of examples/pytorch in an image of their own, which has nothing of muster's, on two
// nodes: a lost pod is replaced, and the script goes on from its checkpoint.
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "base/files/files.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "operator/kube/object_meta.h"
#include "tests/cluster/installed_operator.h"

namespace muster::tests {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class PytorchTest : public testing::Test {
 protected:
  static void SetUpTestSuite() { InstalledOperator::Get().ImportOwnImage("pytorch"); }
  void TearDown() override { at_.Kubectl("delete trainingjobs --all --timeout=120s"); }

  // Applies the example, changed as its own comments say, under another name. Its pods are on
  // different nodes.
  void ApplyExample(const std::string& example, const std::string& name) {
    const auto text = ReadFile(FileSystem(), DataPath(absl::StrCat("examples/", example, ".yaml")));
    ASSERT_TRUE(text.ok()) << text.status();
    const std::string spread = absl::StrCat(
        "topologySpreadConstraints: [{maxSkew: 1, topologyKey: kubernetes.io/hostname, "
        "whenUnsatisfiable: DoNotSchedule, labelSelector: {matchLabels: {muster.dev/job: ",
        name, "}}}]\n      ");
    at_.ApplyYaml(absl::StrReplaceAll(
        *text, {{absl::StrCat("name: ", example),
                 absl::StrCat("name: ", name, "\n  namespace: ", at_.cluster().name_space())},
                {"containers:", absl::StrCat(spread, "containers:")},
                {"registry.example.com/team/pytorch:2.11", "muster.test/pytorch:own"},
                {"# volume", "volume"},
                {absl::StrCat(".muster/checkpoints/", example), "/checkpoints/" + name}}));
  }

  // Deletes the second pod as soon as the script has saved this checkpoint.
  void DeletePodOnceSaved(const std::string& job, const std::string& checkpoint) {
    at_.Shell(absl::StrCat("until [ -e ", at_.shared_folder(), "/", job, "/", checkpoint,
                           " ]; do sleep 0.1; done"));
    at_.Kubectl(absl::StrCat("delete pod ", job, "-1-1 --wait=false"));
  }

  void ExpectOnBothNodes(const std::string& job) {
    EXPECT_THAT(at_.Kubectl(absl::StrCat("get pods --selector=muster.dev/job=", job,
                                         " --output=jsonpath='{.items[*].spec.nodeName}'")),
                AllOf(HasSubstr("node-0"), HasSubstr("node-1")));
  }

  // Returns what the first pod, which is of rank 0, has logged.
  std::string LogOf(const std::string& job) {
    const std::string pod = absl::StrCat(job, "-0-1");
    // The agent tells the end of its rank before the kubelet knows of it.
    at_.AwaitPod(pod, [](const Json& object) {
      return kube::StringAt(object, {"status", "phase"}) == "Succeeded";
    });
    return at_.Kubectl("logs " + pod);
  }

  InstalledOperator& at_ = InstalledOperator::Get();
};

// Returns the last line in which rank 0 names a step.
std::string LastStep(const std::string& log) {
  const size_t begin = log.rfind("[rank 0] step ");
  return begin == std::string::npos ? "" : log.substr(begin, log.find('\n', begin) - begin);
}

TEST_F(PytorchTest, ADdpScriptBesideATrainerGoesOnFromItsCheckpointWhenAPodIsLost) {
  at_.Apply({.name = "beside", .workers = 2, .steps = 1'000'000});
  const Json beside = at_.AwaitSaved("beside", 10);
  EXPECT_EQ(kube::StringAt(beside, {"status", "state"}), "Training");
  ApplyExample("pytorch-ddp", "ddp");
  DeletePodOnceSaved("ddp", "step-000000020.pt");
  const Json job = at_.AwaitSuccess("ddp");
  EXPECT_EQ(job["status"]["incarnations"], Json({1, 2}));
  ExpectOnBothNodes("ddp");
  const std::string log = LogOf("ddp");
  EXPECT_THAT(log, HasSubstr("[rank 0] continues from step "));
  const std::string last = LastStep(log);
  EXPECT_THAT(last, HasSubstr("step 300 loss "));
  // The lost pod is another job's.
  const Json after = at_.AwaitJob("beside", [&](const Json& now) {
    return NumberAt(now, {"status", "progress", "step"}) >
           NumberAt(beside, {"status", "progress", "step"});
  });
  EXPECT_EQ(NumberAt(after, {"status", "round"}), 1);
  at_.Delete("beside");

  ApplyExample("pytorch-ddp", "undisturbed");
  at_.AwaitSuccess("undisturbed");
  const std::string undisturbed = LogOf("undisturbed");
  EXPECT_THAT(undisturbed, Not(HasSubstr("continues from step")));
  EXPECT_EQ(LastStep(undisturbed), last);
}

// It has a distributed checkpoint, and tells muster its steps.
TEST_F(PytorchTest, AnFsdpScriptShowsItsProgressAndGoesOnFromItsCheckpoint) {
  ApplyExample("pytorch-fsdp", "fsdp");
  const Json saved = at_.AwaitSaved("fsdp", 20);
  EXPECT_GE(NumberAt(saved, {"status", "progress", "step"}), 20);
  at_.Kubectl("delete pod fsdp-1-1 --wait=false");
  const Json job = at_.AwaitSuccess("fsdp");
  EXPECT_EQ(job["status"]["incarnations"], Json({1, 2}));
  EXPECT_EQ(NumberAt(job, {"status", "progress", "step"}), 300);
  EXPECT_EQ(NumberAt(job, {"status", "progress", "steps"}), 300);
  EXPECT_EQ(NumberAt(job, {"status", "checkpoint", "step"}), 300);
  ExpectOnBothNodes("fsdp");
  EXPECT_THAT(LogOf("fsdp"), HasSubstr("[rank 0] continues from step "));
}

}  // namespace
}  // namespace muster::tests
