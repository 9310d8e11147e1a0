// `kubectl muster` on real kubelets: what it shows of a job that trains, and the logs of its ranks.
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/cluster/installed_operator.h"

namespace muster::tests {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

class PluginTest : public testing::Test {
 protected:
  void TearDown() override { at_.Kubectl("delete trainingjobs --all --timeout=120s"); }

  // Runs `kubectl muster` in the namespace of jobs.
  std::string Muster(const std::string& words) {
    return at_.Shell(absl::StrCat("kubectl muster ", words, " -n ", at_.cluster().name_space()));
  }

  // Waits until so many processes of ranks have begun.
  void AwaitProcesses(int count) {
    at_.Shell(
        absl::StrCat("until [ $(grep -c begun all.log) -ge ", count, " ]; do sleep 0.1; done"));
  }

  InstalledOperator& at_ = InstalledOperator::Get();
};

TEST_F(PluginTest, AJobThatTrainsIsShownWithItsProgressPodsEventsAndCheckpoints) {
  at_.Apply({.name = "shown", .steps = 1'000'000, .save_every = 50});
  at_.AwaitSaved("shown", 50);
  EXPECT_THAT(Muster("get"), AllOf(HasSubstr("shown"), HasSubstr("Training"), HasSubstr("3/3"),
                                   HasSubstr("/1000000"), HasSubstr("step ")));
  EXPECT_THAT(Muster("describe shown"),
              AllOf(HasSubstr("round 1 is active with 3 workers"), HasSubstr("shown-0-1"),
                    HasSubstr("shown-2-1"), HasSubstr("node-0"), HasSubstr("node-1")));
  EXPECT_THAT(Muster("top --once"), AllOf(HasSubstr("shown"), HasSubstr("1 jobs")));
  EXPECT_THAT(Muster("events shown"), AllOf(HasSubstr("RoundActive"), HasSubstr("Pulled")));
  EXPECT_THAT(Muster("checkpoints shown"),
              AllOf(HasSubstr("Checkpoint:  step "), HasSubstr(", /checkpoints/shown/step-")));
  // The agent's own lines are those of no rank.
  EXPECT_THAT(Muster("logs shown --worker=2"), HasSubstr("joined"));
  const std::string two = Muster("logs shown --rank=2 --tail=50");
  EXPECT_THAT(two, StartsWith("[rank 2] "));
  for (const char* other : {"[rank 0]", "[rank 1]"}) EXPECT_THAT(two, Not(HasSubstr(other)));
}

// Returns the lines that contain `part`.
std::vector<std::string> LinesWith(const std::string& text, const std::string& part) {
  std::vector<std::string> lines = absl::StrSplit(text, '\n', absl::SkipEmpty());
  std::erase_if(lines, [&](const std::string& line) { return !absl::StrContains(line, part); });
  return lines;
}

// Each process says that it has begun, in words that no other says, and waits for a file to end.
TEST_F(PluginTest, FollowedLogsHaveEachLineOnceThroughTheLossOfAPodToTheEndOfTheJob) {
  at_.ImportOwnImage("busybox");
  at_.ApplyYaml(absl::StrCat(R"(
apiVersion: muster.dev/v1alpha1
kind: TrainingJob
metadata: {name: followed, namespace: )",
                             at_.cluster().name_space(), R"(}
spec:
  workers: {count: 2, ranks: 2}
  checkpoint: {uri: /checkpoints/followed}
  template:
    spec:
      containers:
      - name: worker
        image: muster.test/busybox:own
        command: [sh, -c, 'echo begun $(cat /proc/sys/kernel/random/uuid);
          until [ -e /checkpoints/end ]; do sleep 0.1; done; echo over']
        volumeMounts: [{name: checkpoints, mountPath: /checkpoints}]
      volumes: [{name: checkpoints, persistentVolumeClaim: {claimName: checkpoints}}]
)"));
  at_.Shell("touch all.log");
  const std::string logs =
      absl::StrCat("kubectl muster logs followed -n ", at_.cluster().name_space());
  std::thread follow([&] {
    at_.Shell(
        absl::StrCat(logs, " -f --rank=3 >one.log & one=$!; ", logs, " -f >all.log; wait $one"));
  });
  AwaitProcesses(4);
  at_.Kubectl("delete pod followed-0-1 --wait=false");
  AwaitProcesses(8);
  at_.Shell(absl::StrCat("touch ", at_.shared_folder(), "/end"));
  at_.AwaitSuccess("followed");
  follow.join();
  const std::string all = at_.Shell("cat all.log");
  const std::vector<std::string> begun = LinesWith(all, "begun");
  EXPECT_EQ(std::set(begun.begin(), begun.end()).size(), begun.size()) << all;
  for (const int rank : {0, 1, 2, 3}) {
    EXPECT_EQ(LinesWith(all, absl::StrCat("[rank ", rank, "] begun ")).size(), 2) << all;
    EXPECT_EQ(LinesWith(all, absl::StrCat("[rank ", rank, "] over")).size(), 1) << all;
  }
  EXPECT_EQ(LinesWith(at_.Shell("cat one.log"), ""), LinesWith(all, "[rank 3] "));
}

}  // namespace
}  // namespace muster::tests
