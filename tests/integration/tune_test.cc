// Tests `muster tune` as its user sees it: the change holds from one named step on, without a new
// round, and steps that are done again have it at the same step again.

#include <signal.h>
#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "base/exit_codes.h"
#include "base/files/files.h"
#include "base/json.h"
#include "base/testing/patience.h"
#include "cli/jobs/history.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/integration/local_run.h"

namespace muster::tests {
namespace {

using ::testing::HasSubstr;

constexpr double kRate = 3e-3, kTuned = 1e-3;

// More steps than any machine does during the test, which stops the job.
constexpr char kManifest[] = R"(
apiVersion: muster.dev/v1alpha1
kind: TrainingJob
metadata: {name: small}
spec:
  workers: {count: 2, ranks: 1}
  trainer:
    model: {preset: gpt2-nano}
    data: {uri: $FOLDER/text.txt, format: Text, tokenizer: {kind: Byte}}
    train: {steps: 1000000, globalBatch: 4, microBatch: 2, sequence: 64, validateEvery: 0}
    optimizer: {learningRate: 3.0e-3, schedule: constant, warmupSteps: 0}
  checkpoint: {uri: $FOLDER/checkpoints, interval: {mode: Steps, steps: 50}}
)";

class TuneTest : public testing::Test {
 protected:
  void SetUp() override {
    const std::string folder =
        FreshFolder(testing::UnitTest::GetInstance()->current_test_info()->name());
    std::string text;
    while (text.size() < 40'000) absl::StrAppend(&text, "Words to train on, ", text.size(), ".\n");
    ASSERT_TRUE(WriteFileAtomically(FileSystem(), folder + "/text.txt", text).ok());
    run_ = std::make_unique<LocalRun>(folder, "small", kManifest);
  }

  ToolResult Tool(const std::vector<std::string>& arguments) {
    const absl::StatusOr<ToolResult> result = run_->RunTool(arguments);
    EXPECT_TRUE(result.ok()) << result.status();
    return result.ok() ? *result : ToolResult{};
  }
  Json Status() {
    const absl::StatusOr<Json> job = run_->Job();
    EXPECT_TRUE(job.ok()) << job.status();
    return job.ok() && job->contains("status") ? (*job)["status"] : Json::object();
  }
  // Ends `muster run` with all that it started, and without a last checkpoint.
  void KillAll() {
    run_->Signal(SIGKILL);
    ASSERT_TRUE(run_->WaitForEnd(kPatience).ok());
    for (const pid_t pid : run_->Trainers()) kill(pid, SIGKILL);
    for (const pid_t pid : run_->Agents()) kill(pid, SIGKILL);
    ASSERT_TRUE(run_->WaitForNoAgents(kPatience).ok());
  }
  void Stop() {
    EXPECT_EQ(Tool({"stop", "small"}).exit.code, kExitOk);
    ASSERT_TRUE(run_->WaitForEnd(kPatience).ok()) << run_->Output();
  }
  absl::StatusOr<std::unique_ptr<cli::History>> Steps() {
    return cli::History::Load(FileSystem(), run_->folder() + "/state/small/steps.jsonl");
  }
  // Expects the tuned rate in every reported step from `step` on, and the first one before.
  void ExpectRateChangesAt(int64_t step) {
    const auto history = Steps();
    ASSERT_TRUE(history.ok()) << history.status();
    ASSERT_GT((*history)->last_step(), step);
    ASSERT_TRUE((*history)->steps().contains(step - 1));
    for (const auto& [number, report] : (*history)->steps()) {
      EXPECT_DOUBLE_EQ(report.learning_rate(), number < step ? kRate : kTuned) << number;
      EXPECT_EQ(report.tunings(), number < step ? 0 : 1) << number;
      if (number >= step) EXPECT_EQ(report.tuning().step(), step) << number;
    }
  }

  std::unique_ptr<LocalRun> run_;
};

TEST_F(TuneTest, ALearningRateHoldsFromOneNamedStepOnAlsoWhenStepsAreDoneAgain) {
  ASSERT_TRUE(run_->Start().ok());
  ASSERT_TRUE(run_->WaitForStep(5, kPatience).ok()) << run_->Output();
  const ToolResult tuned = Tool({"tune", "small", "learningRate=1e-3", "--wait"});
  ASSERT_EQ(tuned.exit.code, kExitOk) << tuned.out << run_->Output();
  const Json status = Status();
  ASSERT_EQ(status["tunings"].size(), 1u) << status;
  const auto step = status["tunings"][0]["step"].get<int64_t>();
  EXPECT_THAT(tuned.out, HasSubstr("learning rate 0.001 from the next step that all ranks"));
  EXPECT_THAT(tuned.out, HasSubstr(absl::StrCat("learning rate 0.001 from step ", step)));
  EXPECT_TRUE(status["tunings"][0].contains("time"));
  EXPECT_EQ(status["round"], 1) << "no new round";
  ASSERT_TRUE(run_->WaitForStep(step + 30, kPatience).ok()) << run_->Output();
  ExpectRateChangesAt(step);
  EXPECT_THAT(Tool({"describe", "small"}).out,
              HasSubstr(absl::StrCat("Tuned:       learning rate 0.001 from step ", step)));
  EXPECT_THAT(Tool({"events", "small"}).out, HasSubstr("Tuned"));

  // The job goes on from a checkpoint that may be older than the change.
  KillAll();
  const int64_t reached = run_->last_step();
  ASSERT_TRUE(run_->Start().ok());
  ASSERT_TRUE(run_->WaitForStep(reached + 60, kPatience).ok()) << run_->Output();
  EXPECT_EQ(Status()["tunings"].size(), 1u);
  Stop();
  ExpectRateChangesAt(step);
}

TEST_F(TuneTest, AChangeForALaterStepComesWithThatStep) {
  ASSERT_TRUE(run_->Start().ok());
  ASSERT_TRUE(run_->WaitForStep(5, kPatience).ok()) << run_->Output();
  const int64_t step = run_->last_step() + 500;
  const ToolResult tuned = Tool(
      {"tune", "small", "learningRate=1e-3", "clipNorm=0.5", absl::StrCat("--from-step=", step)});
  ASSERT_EQ(tuned.exit.code, kExitOk) << tuned.out;
  EXPECT_THAT(
      Tool({"describe", "small"}).out,
      HasSubstr(absl::StrCat("To tune:     learning rate 0.001, clip norm 0.5 from step ", step)));
  ASSERT_TRUE(run_->WaitForStep(step + 5, kPatience).ok()) << run_->Output();
  Stop();
  ExpectRateChangesAt(step);
  const Json tuning = Status()["tunings"][0];
  EXPECT_EQ(tuning["step"], step);
  EXPECT_EQ(tuning["clipNorm"], 0.5);
}

TEST_F(TuneTest, AnotherBatchOpensARoundAndWhatCannotBeIsRefused) {
  EXPECT_EQ(Tool({"tune", "small", "learningRate=1e-3"}).exit.code, kExitBadInput);
  ASSERT_TRUE(run_->Start().ok());
  ASSERT_TRUE(run_->WaitForStep(5, kPatience).ok()) << run_->Output();
  const ToolResult odd = Tool({"tune", "small", "globalBatch=5"});
  EXPECT_EQ(odd.exit.code, kExitBadInput);
  EXPECT_THAT(odd.out, HasSubstr("must be a multiple of microBatch"));
  const ToolResult far = Tool({"tune", "small", "learningRate=1e9"});
  EXPECT_EQ(far.exit.code, kExitBadInput);
  EXPECT_THAT(far.out, HasSubstr("spec.trainer.tunings[0].learningRate"));
  EXPECT_EQ(Status()["round"], 1);
  const ToolResult batch = Tool({"tune", "small", "globalBatch=8"});
  EXPECT_EQ(batch.exit.code, kExitOk) << batch.out;
  EXPECT_THAT(batch.out, HasSubstr("global batch 8 from the next round on, which opens now"));
  int64_t before = 0, now = 0;
  for (int look = 0; look < 100 && now == before; ++look) {
    ASSERT_TRUE(run_->WaitForStep(run_->last_step() + 10, kPatience).ok()) << run_->Output();
    const auto history = Steps();
    ASSERT_TRUE(history.ok()) << history.status();
    before = (*history)->steps().at(1).tokens();
    now = (*history)->steps().rbegin()->second.tokens();
  }
  EXPECT_EQ(now, 2 * before);
  EXPECT_EQ(Status()["round"], 2);
  EXPECT_FALSE(Status().contains("tunings")) << "it is no change that ranks agree on";
  Stop();
  const ToolResult late = Tool({"tune", "small", "learningRate=1e-3"});
  EXPECT_EQ(late.exit.code, kExitRefused);
  EXPECT_THAT(late.out, HasSubstr("job small is not running"));
}

}  // namespace
}  // namespace muster::tests
