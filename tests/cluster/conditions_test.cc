// Each thing that goes wrong with a pod ends in a condition with a sentence that names it.
#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "operator/kube/object_meta.h"
#include "tests/cluster/installed_operator.h"

namespace muster::tests {
namespace {

using kube::StringAt;
using ::testing::AllOf;
using ::testing::HasSubstr;

class ConditionsTest : public testing::Test {
 protected:
  void TearDown() override { at_.Delete(kName); }

  static constexpr char kName[] = "ends";
  InstalledOperator& at_ = InstalledOperator::Get();
};

TEST_F(ConditionsTest, AMissingImageIsNamed) {
  at_.ApplyYaml(absl::StrCat(R"(
apiVersion: muster.dev/v1alpha1
kind: TrainingJob
metadata: {name: )",
                             kName, ", namespace: ", at_.cluster().name_space(), R"(}
spec:
  workers: {count: 1}
  template: {spec: {containers: [{name: worker, image: "muster.test/none:1", command: [train]}]}}
)"));
  const std::string why = at_.AwaitCondition(kName, "Running", "False", "PodNotStarting");
  EXPECT_THAT(why, AllOf(HasSubstr("pod ends-0-1 does not start on node node-"),
                         HasSubstr("muster.test/none:1")));
  EXPECT_THAT(at_.Kubectl("describe trainingjob ends"), HasSubstr("PodNotStarting"));
}

TEST_F(ConditionsTest, AMissingSecretIsNamed) {
  at_.Apply({.name = kName,
             .workers = 1,
             .container = "        env:\n        - {name: KEY, valueFrom: {secretKeyRef: {name: "
                          "nowhere, key: k}}}\n"});
  EXPECT_THAT(at_.AwaitCondition(kName, "Running", "False", "PodNotStarting"),
              HasSubstr("secret \"nowhere\" not found"));
}

TEST_F(ConditionsTest, AFullVolumeFailsTheSaveAndThenTheJob) {
  at_.Apply({.name = kName,
             .workers = 1,
             .volume = "emptyDir: {medium: Memory, sizeLimit: 64Ki}",
             .spec = "  failurePolicy: {maxFailures: 1}\n"});
  const std::string why = at_.AwaitCondition(kName, "Failed", "True", "LastStepNotSaved");
  EXPECT_THAT(why, HasSubstr("/checkpoints/ends: the checkpoint needs "));
}

// The operator adds the 64Mi of /dev/shm to the limit.
TEST_F(ConditionsTest, TooLittleMemoryIsCountedAsSuch) {
  at_.Apply({.name = kName,
             .workers = 1,
             .container = "        resources: {limits: {memory: 8Mi}}\n",
             .spec = "  failurePolicy: {maxFailures: 1}\n"});
  at_.AwaitJob(kName,
               [](const Json& job) { return StringAt(job, {"status", "state"}) == "Failed"; });
  const Json job = at_.Job(kName);
  EXPECT_THAT(StringAt(ConditionOf(job, "Failed"), {"message"}), HasSubstr("OOMKilled"));
  EXPECT_EQ(StringAt(job, {"status", "failures", "latest", "class"}), "OutOfMemory");
}

TEST_F(ConditionsTest, AProbeThatFailsIsNamed) {
  at_.Apply({.name = kName,
             .workers = 1,
             .steps = 100'000,
             .container = "        livenessProbe: {exec: {command: [/usr/bin/muster-agent, "
                          "no-such-command]}, periodSeconds: 1, failureThreshold: 2}\n",
             .spec = "  failurePolicy: {maxFailures: 1}\n"});
  at_.AwaitJob(kName,
               [](const Json& job) { return StringAt(job, {"status", "state"}) == "Failed"; });
  const Json job = at_.Job(kName);
  EXPECT_THAT(StringAt(ConditionOf(job, "Failed"), {"message"}),
              HasSubstr("as if its livenessProbe or startupProbe had failed"));
  EXPECT_EQ(StringAt(job, {"status", "failures", "latest", "class"}), "ProbeFailed");
}

}  // namespace
}  // namespace muster::tests
