// Tests the other `muster` commands, called from a second process while a job runs.

#include <poll.h>

#include <string>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/exit_codes.h"
#include "base/files/files.h"
#include "base/process/process.h"
#include "base/testing/patience.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/integration/local_run.h"

namespace muster::tests {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr char kManifest[] = R"(
apiVersion: muster.dev/v1alpha1
kind: TrainingJob
metadata: {name: small}
spec:
  workers: {count: 2, ranks: 1}
  trainer:
    model: {preset: gpt2-nano}
    data: {uri: $FOLDER/text.txt, format: Text, tokenizer: {kind: Byte}}
    train: {steps: 5000, globalBatch: 4, microBatch: 2, sequence: 64}
  checkpoint: {uri: $FOLDER/checkpoints, interval: {mode: Steps, steps: 10}, keep: 100}
)";

TEST(ToolsTest, LookAtStopAndResumeARunningJob) {
  const std::string folder = FreshFolder("tools");
  std::string text;
  while (text.size() < 20'000) absl::StrAppend(&text, "Words to train on, ", text.size(), ".\n");
  ASSERT_TRUE(WriteFileAtomically(FileSystem(), folder + "/text.txt", text).ok());
  LocalRun run(folder, "small", kManifest);
  ASSERT_TRUE(run.Start().ok());
  const absl::Status reached = run.WaitForStep(30, kPatience);
  ASSERT_TRUE(reached.ok()) << reached;
  const auto expect = [&run](const std::vector<std::string>& arguments, const auto& matcher) {
    const auto result = run.RunTool(arguments);
    ASSERT_TRUE(result.ok()) << result.status();
    EXPECT_EQ(result->exit.code, kExitOk) << arguments[0] << ": " << result->out;
    EXPECT_THAT(result->out, matcher) << arguments[0];
  };
  expect({"get"}, AllOf(HasSubstr("small"), HasSubstr("Training"), HasSubstr("2/2")));
  expect({"describe", "small"}, AllOf(HasSubstr("RoundActive"), HasSubstr("/5000")));
  const unsigned cpus = std::thread::hardware_concurrency();
  expect({"tree"}, HasSubstr(absl::StrCat(" of ", cpus, " CPUs free  2 pods ask for no CPU\n")));
  expect({"logs", "small"}, HasSubstr("rank-0.log"));
  expect({"checkpoints", "small"}, HasSubstr("step-000000010"));
  const auto job = run.Job();
  ASSERT_TRUE(job.ok()) << job.status();
  EXPECT_EQ((*job)["status"]["state"], "Training");
  expect({"stop", "small"}, HasSubstr("muster resume small"));
  const auto end = run.WaitForEnd(kPatience);
  ASSERT_TRUE(end.ok()) << end.status();
  EXPECT_EQ(end->code, kExitStopped) << run.Output();
  EXPECT_TRUE(run.Agents().empty());
  expect({"get"}, HasSubstr("Suspended"));
  const int64_t stopped_at = run.last_step();
  ASSERT_TRUE(run.Resume().ok());
  const absl::Status went_on = run.WaitForStep(stopped_at + 10, kPatience);
  EXPECT_TRUE(went_on.ok()) << went_on;
}

TEST(ToolsTest, AnUnknownJobIsBadInput) {
  const std::string folder = FreshFolder("unknown");
  const LocalRun run(folder, "small", kManifest);
  const auto result = run.RunTool({"describe", "nobody"});
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->exit.code, kExitBadInput);
}

// It stood in Starting for minutes and then named /dev/null.
TEST(ToolsTest, TooFewOpenFilesAreNamedBeforeAnythingStarts) {
  const std::string folder = FreshFolder("files");
  const LocalRun manifest(folder, "small", kManifest);
  ProcessSpec spec;
  spec.argv = {
      "/bin/sh", "-c",
      absl::StrCat("ulimit -n 128 && exec ", ProgramPath("cli/muster"), " run ", folder,
                   "/manifest.yaml --state-dir ", folder, "/state >", folder, "/out.log 2>&1")};
  const auto process = ProcessLauncher::Real().Launch(spec);
  ASSERT_TRUE(process.ok()) << process.status();
  pollfd end = {(*process)->poll_fd(), POLLIN, 0};
  ASSERT_EQ(poll(&end, 1, kPatienceMillis), 1);
  const auto exit = (*process)->Poll();
  ASSERT_TRUE(exit.ok() && exit->has_value());
  EXPECT_EQ((*exit)->code, kExitRefused);
  EXPECT_THAT(ReadFile(FileSystem(), folder + "/out.log").value_or(""),
              HasSubstr("at most 128 open files are allowed (ulimit -n)"));
  EXPECT_FALSE(Exists(FileSystem(), folder + "/state/small"));
}

}  // namespace
}  // namespace muster::tests
