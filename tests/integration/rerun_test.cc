// Tests `muster run` under a name that was used before: what continues, what is refused, what
// starts fresh, and that nothing is lost.

#include <signal.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/time/time.h"
#include "base/exit_codes.h"
#include "base/files/files.h"
#include "base/json.h"
#include "base/testing/patience.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/integration/local_run.h"

namespace muster::tests {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kTraining[] = R"(
apiVersion: muster.dev/v1alpha1
kind: TrainingJob
metadata: {name: small}
spec:
  workers: {count: 1}
  trainer:
    model: {preset: gpt2-nano}
    data: {uri: $FOLDER/text.txt}
    train: {steps: STEPS, globalBatch: 4, microBatch: 2, sequence: 64, validateEvery: 0}
  checkpoint: {uri: $FOLDER/checkpoints}
)";

constexpr char kCommand[] = R"(
apiVersion: muster.dev/v1alpha1
kind: TrainingJob
metadata: {name: small}
spec:
  workers: {count: 1}
  template: {spec: {containers: [{name: worker, command: [sh, $FOLDER/work.sh]}]}}
)";

class RerunTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = FreshFolder(testing::UnitTest::GetInstance()->current_test_info()->name());
    std::string text;
    while (text.size() < 20'000) absl::StrAppend(&text, "Words to train on, ", text.size(), ".\n");
    Write("text.txt", text);
  }

  void Write(const std::string& name, const std::string& contents) {
    ASSERT_TRUE(WriteFileAtomically(FileSystem(), JoinPath(folder_, name), contents).ok());
  }
  std::string Read(const std::string& name) {
    return ReadFile(FileSystem(), JoinPath(folder_, name)).value_or("missing");
  }
  void NewRun(const std::string& manifest) {
    run_ = std::make_unique<LocalRun>(folder_, "small", manifest);
  }
  static std::string Training(int steps) {
    return absl::StrReplaceAll(kTraining, {{"STEPS", absl::StrCat(steps)}});
  }
  int RunToItsEnd(const std::vector<std::string>& flags = {}) {
    EXPECT_TRUE(run_->Start(flags).ok());
    const auto end = run_->WaitForEnd(kPatience);
    EXPECT_TRUE(end.ok()) << end.status();
    return end.ok() ? end->code : -1;
  }

  std::string folder_;
  std::unique_ptr<LocalRun> run_;
};

// The changed script must not be taken for the finished one, which would report Succeeded without
// running it.
TEST_F(RerunTest, AFinishedCommandWhoseScriptChangedIsRefusedAndFreshRunsIt) {
  Write("work.sh", absl::StrCat("echo first > ", folder_, "/result\n"));
  NewRun(kCommand);
  ASSERT_EQ(RunToItsEnd(), kExitOk) << run_->Output();
  Write("work.sh", absl::StrCat("echo second > ", folder_, "/result\n"));
  EXPECT_EQ(RunToItsEnd(), kExitBadInput) << run_->Output();
  EXPECT_THAT(
      run_->Output(),
      HasSubstr(absl::StrCat(
          "there is a job small already, and this would be another run of that name: ", folder_,
          "/work.sh, which the command names, has changed since; to begin anew, "
          "add --fresh; to keep both, give this one another "
          "metadata.name")));
  EXPECT_EQ(Read("result"), "first\n");
  EXPECT_EQ(RunToItsEnd({"--fresh"}), kExitOk) << run_->Output();
  EXPECT_EQ(Read("result"), "second\n");
}

// Regression: they reached the terminal as the program had written them.
TEST_F(RerunTest, EscapeSequencesOfACommandAreShownAsQuestionMarks) {
  Write("work.sh", "printf '\\033]0;title\\007red\\r\\n' >&2\nexit 7\n");
  NewRun(absl::StrCat(kCommand, "  failurePolicy: {maxFailures: 0}\n"));
  ASSERT_EQ(RunToItsEnd(), kExitFailed) << run_->Output();
  const std::string out = Read("out.log");
  EXPECT_THAT(out, HasSubstr("?]0;title?red?"));
  const auto described = run_->RunTool({"describe", "small"});
  ASSERT_TRUE(described.ok()) << described.status();
  for (const std::string& text : {out, described->out}) {
    EXPECT_EQ(text.find_first_of("\033\007\r"), std::string::npos) << text;
  }
}

TEST_F(RerunTest, ACommandThatFailedMayBeMendedAndRunAgain) {
  Write("work.sh", "exit 7\n");
  NewRun(absl::StrCat(kCommand, "  failurePolicy: {maxFailures: 0}\n"));
  ASSERT_EQ(RunToItsEnd(), kExitFailed) << run_->Output();
  Write("work.sh", absl::StrCat("echo mended > ", folder_, "/result\n"));
  EXPECT_EQ(RunToItsEnd(), kExitOk) << run_->Output();
  EXPECT_EQ(Read("result"), "mended\n");
}

TEST_F(RerunTest, AnotherModelIsRefusedAndFreshBeginsAnewWithTheOldCheckpointsKept) {
  NewRun(Training(12));
  ASSERT_EQ(RunToItsEnd(), kExitOk) << run_->Output();
  const auto first = NewestTensors(run_->Checkpoints());
  ASSERT_TRUE(first.ok()) << first.status();
  run_->SetManifest(
      absl::StrReplaceAll(Training(8), {{"preset: gpt2-nano", "preset: gpt2-nano, layers: 1"}}));
  EXPECT_EQ(RunToItsEnd(), kExitBadInput) << run_->Output();
  EXPECT_THAT(run_->Output(), HasSubstr("spec.trainer.model must not change"));
  EXPECT_EQ(*NewestTensors(run_->Checkpoints()), *first);
  EXPECT_EQ(RunToItsEnd({"--fresh"}), kExitOk) << run_->Output();
  EXPECT_EQ(run_->last_step(), 8) << run_->Output();
  const auto entries = FileSystem().List(run_->Checkpoints());
  ASSERT_TRUE(entries.ok()) << entries.status();
  std::string aside;
  for (const DirectoryEntry& entry : *entries) {
    if (absl::StartsWith(entry.name, "abandoned-")) aside = entry.name;
  }
  ASSERT_FALSE(aside.empty()) << run_->Output();
  EXPECT_EQ(*NewestTensors(JoinPath(run_->Checkpoints(), aside)), *first);
}

// Otherwise the job would report "steps 509 of 10" and Succeeded.
TEST_F(RerunTest, FewerStepsThanWereMadeAreNotTheSameRun) {
  NewRun(Training(100'000));
  ASSERT_TRUE(run_->Start().ok());
  const absl::Status reached = run_->WaitForStep(20, kPatience);
  ASSERT_TRUE(reached.ok()) << reached;
  run_->Signal(SIGINT);
  ASSERT_TRUE(run_->WaitForEnd(kPatience).ok());
  const int64_t made = run_->last_step();
  run_->SetManifest(Training(10));
  EXPECT_EQ(RunToItsEnd(), kExitBadInput) << run_->Output();
  EXPECT_THAT(run_->Output(), HasSubstr(absl::StrCat("it has made ", made,
                                                     " steps, and spec.trainer.train.steps is 10 "
                                                     "now")));
}

// Regression: the resume ended with "resourceVersion should not be set", and the job was gone.
TEST_F(RerunTest, AFailedJobThatIsResumedIsStillThereAndTrainsOnceItsDataIsMended) {
  NewRun(Training(8));
  Write("text.txt", "caf\xe9 ");
  ASSERT_EQ(RunToItsEnd(), kExitBadInput) << run_->Output();
  ASSERT_TRUE(run_->Resume().ok());
  auto end = run_->WaitForEnd(kPatience);
  ASSERT_TRUE(end.ok()) << end.status();
  EXPECT_EQ(end->code, kExitBadInput) << run_->Output();
  EXPECT_THAT(run_->Output(), Not(HasSubstr("resourceVersion")));
  const auto job = run_->Job();
  ASSERT_TRUE(job.ok()) << job.status();
  EXPECT_EQ((*job)["status"]["state"], "Failed");

  std::string text;
  while (text.size() < 20'000) absl::StrAppend(&text, "Words to train on, ", text.size(), ".\n");
  Write("text.txt", text);
  ASSERT_TRUE(run_->Resume().ok());
  end = run_->WaitForEnd(kPatience);
  ASSERT_TRUE(end.ok()) << end.status();
  EXPECT_EQ(end->code, kExitOk) << run_->Output();
  EXPECT_EQ(run_->last_step(), 8);
}

// Regression: it began at step 0 without a word, and succeeded.
TEST_F(RerunTest, AFinishedJobWithMoreStepsWhoseCheckpointsAreGoneWaitsForAWord) {
  NewRun(Training(8));
  ASSERT_EQ(RunToItsEnd(), kExitOk) << run_->Output();
  ASSERT_TRUE(RemoveAll(FileSystem(), run_->Checkpoints()).ok());
  run_->SetManifest(Training(12));
  ASSERT_TRUE(run_->Start().ok());
  const auto held = run_->WaitForCondition("Running", "False", "CheckpointLost", kPatience);
  ASSERT_TRUE(held.ok()) << held.status();
  EXPECT_THAT(*held, HasSubstr("the job has the checkpoint of step 8 of history "));
  EXPECT_THAT(*held, HasSubstr("which no rank finds"));
  const size_t word = held->find("set spec.checkpoint.giveUp: \"");
  ASSERT_NE(word, std::string::npos) << *held;
  const absl::Status shown = run_->WaitForOutput("waits: CheckpointLost", kPatience);
  EXPECT_TRUE(shown.ok()) << shown;
  EXPECT_EQ(run_->last_step(), 8) << "it trained";
  run_->Signal(SIGINT);
  ASSERT_TRUE(run_->WaitForEnd(kPatience).ok());

  const std::string give_up = held->substr(held->find("giveUp", word));
  run_->SetManifest(absl::StrReplaceAll(
      Training(12),
      {{"uri: $FOLDER/checkpoints", absl::StrCat("uri: $FOLDER/checkpoints, ", give_up)}}));
  EXPECT_EQ(RunToItsEnd(), kExitOk) << run_->Output();
  EXPECT_EQ(run_->last_step(), 12);
}

// Regression: the finished job was forgotten and its only checkpoint set aside before the new
// manifest was looked at.
TEST_F(RerunTest, ARefusedFreshRunLeavesTheFinishedJobAndItsCheckpoints) {
  NewRun(Training(8));
  ASSERT_EQ(RunToItsEnd(), kExitOk) << run_->Output();
  const auto first = NewestTensors(run_->Checkpoints());
  ASSERT_TRUE(first.ok()) << first.status();
  const std::string before = DumpJson(*run_->Job());
  const std::pair<const char*, std::string> refused[] = {
      {"GPUs that are not there",
       absl::StrReplaceAll(Training(8), {{"count: 1", "count: 1, gpus: 99"}})},
      {"more processors than there are",
       absl::StrReplaceAll(
           Training(8), {{"  workers:",
                          "  template: {spec: {containers: [{name: worker, resources: {requests: "
                          "{cpu: \"5000\"}}}]}}\n  workers:"}})},
      {"another namespace",
       absl::StrReplaceAll(Training(8), {{"{name: small}", "{name: small, namespace: No_Such}"}})},
      {"a namespace that is not there",
       absl::StrReplaceAll(Training(8),
                           {{"{name: small}", "{name: small, namespace: elsewhere}"}})},
      {"no data", absl::StrReplaceAll(Training(8), {{"/text.txt", "/none.txt"}})},
      {"data that is no text", absl::StrReplaceAll(Training(8), {{"/text.txt", "/latin1.txt"}})},
      {"no tokenizer",
       absl::StrReplaceAll(Training(8),
                           {{"text.txt}", "text.txt, tokenizer: {uri: $FOLDER/none.json}}"}})},
      {"a file that is no tokenizer",
       absl::StrReplaceAll(Training(8),
                           {{"text.txt}", "text.txt, tokenizer: {uri: $FOLDER/text.txt}}"}})},
  };
  Write("latin1.txt", "caf\xe9 ");
  for (const auto& [what, manifest] : refused) {
    run_->SetManifest(manifest);
    EXPECT_NE(RunToItsEnd({"--fresh"}), kExitOk) << what << run_->Output();
    const auto job = run_->Job();
    ASSERT_TRUE(job.ok()) << what << job.status();
    EXPECT_EQ(DumpJson(*job), before) << what;
    EXPECT_EQ(run_->last_step(), 8) << what;
    const auto now = NewestTensors(run_->Checkpoints());
    ASSERT_TRUE(now.ok()) << what << now.status();
    EXPECT_EQ(*now, *first) << what;
  }
}

TEST_F(RerunTest, ADeletedJobIsForgottenAndItsCheckpointsStay) {
  NewRun(Training(8));
  ASSERT_EQ(RunToItsEnd(), kExitOk) << run_->Output();
  const auto deleted = run_->RunTool({"delete", "small"});
  ASSERT_TRUE(deleted.ok()) << deleted.status();
  EXPECT_EQ(deleted->exit.code, kExitOk) << deleted->out;
  EXPECT_EQ(deleted->out,
            absl::StrCat("job small is deleted\nits checkpoints stay where they are: ",
                         run_->Checkpoints(), "\n"));
  EXPECT_FALSE(Exists(FileSystem(), folder_ + "/state/small"));
  EXPECT_TRUE(NewestTensors(run_->Checkpoints()).ok());
}

}  // namespace
}  // namespace muster::tests
