// Tests jobs with a command of their own, as real processes: a command that has ended is not run
// again, and one that cannot run is not retried for ever.

#include <signal.h>

#include <string>
#include <vector>

#include "absl/strings/str_split.h"
#include "absl/time/time.h"
#include "base/exit_codes.h"
#include "base/files/files.h"
#include "base/json.h"
#include "base/testing/patience.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/faults/fault_job.h"
#include "tests/integration/local_run.h"

namespace muster::tests {
namespace {

using ::testing::HasSubstr;

// A command that records each start as a line and then waits until the test lets it end.
constexpr char kWaits[] = R"(
apiVersion: muster.dev/v1alpha1
kind: TrainingJob
metadata: {name: command}
spec:
  workers: {count: 2, ranks: 1}
  template:
    spec:
      containers:
        - name: worker
          command: [sh, -c, 'echo "$RANK" >> $FOLDER/starts; while [ ! -e $FOLDER/end ]; do sleep 0.05; done']
  elastic: {orphanDeadline: 10s}
)";

constexpr char kCannotStart[] = R"(
apiVersion: muster.dev/v1alpha1
kind: TrainingJob
metadata: {name: command}
spec:
  workers: {count: 2, ranks: 1}
  template:
    spec:
      containers:
        - name: worker
          command: [sh, -c, 'echo "$RANK" >> $FOLDER/starts; echo "$(date +%s) pid $$: no module named torch"; exit 1']
  failurePolicy: {initialBackoff: 100ms, maxFailures: 50}
)";

size_t Starts(const LocalRun& run) {
  const auto text = ReadFile(FileSystem(), run.folder() + "/starts");
  if (!text.ok()) return 0;
  return std::vector<std::string>(absl::StrSplit(*text, '\n', absl::SkipEmpty())).size();
}

TEST(CommandTest, ACommandThatEndedWithoutAnOperatorIsNotRunAgain) {
  LocalRun run(FreshFolder("command-ended"), "command", kWaits);
  ASSERT_TRUE(run.Start().ok());
  const auto running = WaitForReason(run, "Running", "RoundActive", kPatience);
  ASSERT_TRUE(running.ok()) << running.status();
  run.Signal(SIGKILL);
  ASSERT_TRUE(run.WaitForEnd(kPatience).ok());
  // The commands end before any agent counts as orphaned.
  ASSERT_TRUE(WriteFileAtomically(FileSystem(), run.folder() + "/end", "").ok());
  const absl::Status nobody = run.WaitForNoAgents(kPatience);
  ASSERT_TRUE(nobody.ok()) << nobody;
  ASSERT_EQ(Starts(run), 2u);
  ASSERT_TRUE(run.Start().ok());
  const auto end = run.WaitForEnd(kPatience);
  ASSERT_TRUE(end.ok()) << end.status();
  EXPECT_EQ(end->code, kExitOk) << run.Output();
  EXPECT_EQ(Starts(run), 2u) << "a command that had ended was run again";
  const auto job = run.Job();
  ASSERT_TRUE(job.ok()) << job.status();
  EXPECT_EQ((*job)["status"]["workers"]["ended"], "0-1");
}

TEST(CommandTest, ACommandThatFailsAlikeThreeTimesIsNotTriedAgain) {
  LocalRun run(FreshFolder("command-alike"), "command", kCannotStart);
  ASSERT_TRUE(run.Start().ok());
  const auto end = run.WaitForEnd(kPatience);
  ASSERT_TRUE(end.ok()) << end.status();
  EXPECT_EQ(end->code, kExitFailed) << run.Output();
  EXPECT_THAT(run.Output(),
              HasSubstr("IdenticalFailures: 3 rounds in a row broke in the same way"));
  EXPECT_THAT(run.Output(), HasSubstr("ended with exit code 1 (Exited); it said: "));
  EXPECT_THAT(run.Output(), HasSubstr("no module named torch"));
  EXPECT_LE(Starts(run), 6u) << "two ranks in three rounds";
  const auto job = run.Job();
  ASSERT_TRUE(job.ok()) << job.status();
  EXPECT_EQ((*job)["status"]["failures"]["repeat"]["count"], 3);
}

}  // namespace
}  // namespace muster::tests
