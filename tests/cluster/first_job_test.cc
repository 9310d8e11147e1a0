// The operator, installed by Helm from our images on nodes with real kubelets, trains a job.
#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/cluster/installed_operator.h"

namespace muster::tests {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(FirstJobTest, ThreeWorkersOnTwoNodesTrainToTheEndThroughTheLossOfAPod) {
  InstalledOperator& at = InstalledOperator::Get();
  at.Apply({.name = "first", .steps = 60, .save_every = 10});
  at.AwaitSaved("first", 10);
  at.Kubectl("delete pod first-1-1 --wait=false");
  const Json job = at.AwaitSuccess("first");
  EXPECT_EQ(NumberAt(job, {"status", "progress", "step"}), 60);
  EXPECT_EQ(NumberAt(job, {"status", "checkpoint", "step"}), 60);
  const std::string nodes = at.Kubectl(
      "get pods --selector=muster.dev/job=first --output=jsonpath='{.items[*].spec.nodeName}'");
  EXPECT_THAT(nodes, AllOf(HasSubstr("node-0"), HasSubstr("node-1")));
  EXPECT_THAT(at.Kubectl("logs first-2-1"), HasSubstr("joined round=1"));
  at.OnNode("node-1", absl::StrCat("ls ", at.shared_folder(), "/first/step-000000060/DONE"));
}

// The image has a static program and no library: the agent that runs it comes from ours.
TEST(FirstJobTest, ACommandOfAnAlmostEmptyImageRunsUnderTheAgent) {
  InstalledOperator& at = InstalledOperator::Get();
  at.ApplyYaml(absl::StrCat(R"(
apiVersion: muster.dev/v1alpha1
kind: TrainingJob
metadata: {name: own, namespace: )",
                            at.cluster().name_space(), R"(}
spec:
  workers: {count: 1}
  template:
    spec:
      containers:
      - {name: worker, image: "muster.test/agent:test", command: [/usr/bin/muster-agent, install, /tmp]}
)"));
  at.AwaitSuccess("own");
  EXPECT_EQ(at.Kubectl("get pod own-0-1 --output=jsonpath='{.spec.containers[0].command[0]}'"),
            "/var/lib/muster/muster-agent");
  EXPECT_EQ(at.Kubectl("get pod own-0-1 --output=jsonpath="
                       "'{.status.initContainerStatuses[0].state.terminated.exitCode}'"),
            "0");
}

}  // namespace
}  // namespace muster::tests
