// Tests that failurePolicy and successPolicy are carried out, with real processes.

#include <signal.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_replace.h"
#include "absl/time/time.h"
#include "base/exit_codes.h"
#include "base/files/files.h"
#include "base/json.h"
#include "base/process/process.h"
#include "base/testing/patience.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/faults/fault_job.h"
#include "tests/integration/local_run.h"

namespace muster::tests {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

Json FailuresOf(const LocalRun& run) {
  const auto job = run.Job();
  EXPECT_TRUE(job.ok()) << job.status();
  if (!job.ok()) return Json::object();
  return job->value("status", Json::object()).value("failures", Json::object());
}

ExitStatus EndOf(LocalRun& run) {
  const auto end = run.WaitForEnd(kPatience);
  EXPECT_TRUE(end.ok()) << end.status();
  return end.value_or(ExitStatus{.known = false});
}

TEST(FailurePolicyTest, RestartJobStartsEveryRankAnewFromTheNewestCheckpoint) {
  const DisturbedJobSpec job = {.steps = 150,
                                .save_every = 10,
                                .rules = "[{name: crash, action: RestartJob, signals: [SIGSEGV]}]"};
  auto run = NewRun("restart-job", job);
  ASSERT_TRUE(run->Start().ok());
  const auto saved = WaitForReason(*run, "Checkpointed", "CheckpointWritten", kPatience);
  ASSERT_TRUE(saved.ok()) << saved.status();
  const std::vector<pid_t> agents = run->Agents();
  const std::vector<pid_t> before = run->Trainers();
  ASSERT_EQ(before.size(), 2u);
  const int64_t step = run->last_step();
  kill(before[0], SIGSEGV);
  ASSERT_TRUE(run->WaitForStep(step + 20, kPatience).ok()) << run->Output();
  const std::vector<pid_t> after = run->Trainers();
  ASSERT_EQ(after.size(), 2u) << "it ended too soon\n" << run->Output();
  for (const pid_t pid : before) EXPECT_THAT(after, Not(Contains(pid)));
  EXPECT_EQ(run->Agents(), agents) << "pods stay";
  ExpectUndisturbedWeights(*run, job);
  EXPECT_THAT(run->Output(), HasSubstr("no rank holds live state; loading step-0000000"));
  const Json failures = FailuresOf(*run);
  EXPECT_EQ(failures.value("count", 0), 1);
  EXPECT_EQ(failures["latest"].value("class", ""), "RankKilled");
  EXPECT_EQ(failures["latest"].value("rule", ""), "crash");
  EXPECT_EQ(failures["latest"].value("action", ""), "RestartJob");
  EXPECT_FALSE(failures.value("restarting", false));
}

constexpr char kCommand[] = R"(
apiVersion: muster.dev/v1alpha1
kind: TrainingJob
metadata: {name: command}
spec:
  workers: {count: 2, ranks: 1}
  template: {spec: {containers: [{name: worker, command: [sh, -c, 'SCRIPT']}]}}
  MORE
)";

std::unique_ptr<LocalRun> RunCommand(const std::string& name, const std::string& script,
                                     const std::string& more) {
  auto run = std::make_unique<LocalRun>(
      FreshFolder(name), "command",
      absl::StrReplaceAll(kCommand, {{"SCRIPT", script}, {"MORE", more}}));
  EXPECT_TRUE(run->Start().ok());
  return run;
}

TEST(FailurePolicyTest, ALogPatternEndsTheJobAtOnceWithTheEvidence) {
  auto run = RunCommand("log-pattern",
                        "echo starting; [ $RANK = 1 ] || exec sleep 600; echo licence expired >&2; "
                        "exit 9",
                        "failurePolicy: {rules: [{name: licence, action: FailJob, logPattern: "
                        "\"licence (expired|missing)\"}]}");
  EXPECT_EQ(EndOf(*run).code, kExitFailed) << run->Output();
  EXPECT_THAT(run->Output(), HasSubstr("failurePolicy rule licence with action FailJob"));
  const Json failures = FailuresOf(*run);
  EXPECT_EQ(failures.value("count", 0), 1);
  EXPECT_THAT(
      failures.value("evidence", ""),
      AllOf(HasSubstr("rank 1 of worker 1 ended with exit code 9"), HasSubstr("licence expired")));
  EXPECT_EQ(failures["first"].value("worker", -1), 1);
  EXPECT_EQ(failures["first"].value("exitCode", 0), 9);
  EXPECT_EQ(failures["latest"].value("rule", ""), "licence");
  EXPECT_TRUE(run->WaitForNoAgents(kPatience).ok()) << "the other rank is stopped";
}

// Runs the example of docs/failure-policy.md and the command that it recommends for looking at the
// job.
TEST(FailurePolicyTest, TheExampleEndsByItsFirstRuleAndDescribeSaysSo) {
  const auto text = ReadFile(FileSystem(), "examples/failure-policy.yaml");
  ASSERT_TRUE(text.ok()) << text.status();
  const std::string stopped = absl::StrReplaceAll(*text, {{", worker]", ", worker, stop]"}});
  ASSERT_NE(stopped, *text);
  LocalRun run(FreshFolder("example"), "failure-policy", stopped);
  ASSERT_TRUE(run.Start().ok());
  EXPECT_EQ(EndOf(run).code, kExitFailed) << run.Output();
  const auto described = run.RunTool({"describe", "failure-policy"});
  ASSERT_TRUE(described.ok()) << described.status();
  EXPECT_THAT(described->out, AllOf(HasSubstr("FailedByRule"), HasSubstr("exit code 42"),
                                    HasSubstr("ProgramFailed, rule wrong-arguments: FailJob")));
}

TEST(FailurePolicyTest, UnderSuccessPolicyLeaderTheOthersAreStoppedWhenWorker0HasFinished) {
  auto run = RunCommand("leader",
                        "[ $RANK = 0 ] || { touch $FOLDER/started; exec sleep 600; }; "
                        "until [ -e $FOLDER/started ]; do sleep 0.02; done",
                        "successPolicy: Leader");
  EXPECT_EQ(EndOf(*run).code, kExitOk) << run->Output();
  const auto job = run->Job();
  ASSERT_TRUE(job.ok()) << job.status();
  EXPECT_EQ((*job)["status"].value("state", ""), "Succeeded");
  EXPECT_EQ(FailuresOf(*run).value("count", 0), 0);
  EXPECT_TRUE(run->WaitForNoAgents(kPatience).ok());
}

}  // namespace
}  // namespace muster::tests
