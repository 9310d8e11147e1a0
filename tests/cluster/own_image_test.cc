// Commands of images that have another libc than ours, or none, run under the agent, which an init
// container copies into their pods.
#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "operator/kube/object_meta.h"
#include "tests/cluster/installed_operator.h"

namespace muster::tests {
namespace {

using ::testing::HasSubstr;

class OwnImageTest : public testing::Test {
 protected:
  void TearDown() override { at_.Kubectl("delete trainingjobs --all --timeout=120s"); }

  // Runs the command on two ranks, which say what they read in torchrun's environment.
  void ExpectRanksOf(const std::string& image, const std::string& command) {
    at_.ImportOwnImage(image);
    at_.ApplyYaml(
        absl::StrCat("apiVersion: muster.dev/v1alpha1\nkind: TrainingJob\nmetadata: {name: ", image,
                     ", namespace: ", at_.cluster().name_space(), R"(}
spec:
  workers: {count: 2}
  template: {spec: {containers: [{name: worker, image: "muster.test/)",
                     image, ":own\", command: ", command, "}]}}\n"));
    at_.AwaitSuccess(image);
    for (const int rank : {0, 1}) {
      const std::string pod = absl::StrCat(image, "-", rank, "-1");
      // The agent tells the end of its rank before the kubelet knows even of its beginning.
      at_.AwaitPod(pod, [](const Json& object) {
        return kube::StringAt(object, {"status", "phase"}) == "Succeeded";
      });
      EXPECT_THAT(
          at_.Kubectl("logs " + pod),
          HasSubstr(absl::StrCat("[rank ", rank, "] RANK=", rank, " WORLD_SIZE=2 MASTER_ADDR=",
                                 kube::StringAt(at_.Pod(image + "-0-1"), {"status", "podIP"}),
                                 " MASTER_PORT=")));
    }
  }

  InstalledOperator& at_ = InstalledOperator::Get();
};

TEST_F(OwnImageTest, AShellScriptOfAnImageWithBusyboxAloneRuns) {
  ExpectRanksOf("busybox",
                "[sh, -c, 'echo RANK=$RANK WORLD_SIZE=$WORLD_SIZE MASTER_ADDR=$MASTER_ADDR "
                "MASTER_PORT=$MASTER_PORT']");
}

TEST_F(OwnImageTest, AProgramThatIsLinkedToMuslRuns) { ExpectRanksOf("musl", "[say_rank]"); }

}  // namespace
}  // namespace muster::tests
