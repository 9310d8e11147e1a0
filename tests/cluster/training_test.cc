// A job of three workers on two nodes: it trains to its end, and kubectl shows how.
#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "operator/kube/object_meta.h"
#include "tests/cluster/installed_operator.h"

namespace muster::tests {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(TwoNodesTest, ThreeWorkersTrainToTheEndWithCheckpointsOnAClaim) {
  InstalledOperator& at = InstalledOperator::Get();
  at.Apply({.name = "three", .steps = 60, .save_every = 20});
  const Json job = at.AwaitSuccess("three");
  EXPECT_EQ(NumberAt(job, {"status", "progress", "step"}), 60);
  EXPECT_EQ(NumberAt(job, {"status", "checkpoint", "step"}), 60);
  const std::string nodes = at.Kubectl(
      "get pods --selector=muster.dev/job=three --output=jsonpath='{.items[*].spec.nodeName}'");
  EXPECT_THAT(nodes, AllOf(HasSubstr("node-0"), HasSubstr("node-1")));
  for (const char* node : {"node-0", "node-1"}) {
    at.OnNode(node, absl::StrCat("ls ", at.shared_folder(), "/three/step-000000060/DONE"));
  }
  at.Delete("three");
}

TEST(TwoNodesTest, KubectlShowsLogsEventsAndTheInsideOfAWorker) {
  InstalledOperator& at = InstalledOperator::Get();
  at.Apply({.name = "seen", .steps = 100'000, .save_every = 50});
  at.AwaitCondition("seen", "Running", "True", "RoundActive");
  EXPECT_THAT(at.Kubectl("logs seen-2-1"), AllOf(HasSubstr("joined"), HasSubstr("rank=2")));
  at.Kubectl("exec seen-1-1 -- muster-agent install /checkpoints");
  at.OnNode("node-0", absl::StrCat("test -x ", at.shared_folder(), "/muster-agent"));
  EXPECT_THAT(at.Kubectl("describe trainingjob seen"),
              AllOf(HasSubstr("RoundActive"), HasSubstr("round 1 is active with 3 workers")));
  EXPECT_THAT(at.Kubectl("describe pod seen-0-1"), HasSubstr("Container started"));
  at.Delete("seen");
  EXPECT_EQ(at.Kubectl("get pods --selector=muster.dev/job=seen --output=name"), "");
}

TEST(SharedVolumeTest, AVolumeOfEachNodesOwnIsRefusedBeforeTheFirstStep) {
  InstalledOperator& at = InstalledOperator::Get();
  for (const char* node : {"node-0", "node-1"}) at.OnNode(node, "mkdir -m 0777 /var/own");
  at.Apply({.name = "apart",
            .volume = "hostPath: {path: /var/own}",
            .spec = "  elastic: {stepDeadline: 10s}\n"});
  const std::string why = at.AwaitCondition("apart", "Failed", "True", "BadInput");
  EXPECT_THAT(why, AllOf(HasSubstr("does not see what rank 0 has written there"),
                         HasSubstr("one directory for all workers")));
  EXPECT_LE(NumberAt(at.Job("apart"), {"status", "progress", "step"}), 0);
  at.Delete("apart");
}

}  // namespace
}  // namespace muster::tests
