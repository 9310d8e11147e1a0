#include "cli/jobs/reapply.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace muster::cli {
namespace {

using control::TrainingJob;
using ::testing::HasSubstr;

TrainingJob Training(const std::string& preset, int64_t steps) {
  TrainingJob job;
  job.name = "small";
  auto& trainer = *job.spec.mutable_trainer();
  trainer.mutable_model()->set_preset(preset);
  trainer.mutable_data()->set_uri("/text.txt");
  trainer.mutable_train()->set_steps(steps);
  job.spec.mutable_checkpoint()->set_uri("/checkpoints");
  return job;
}

TrainingJob Command(const std::string& argument, const std::string& script_hash) {
  TrainingJob job;
  job.name = "small";
  job.spec.mutable_template_()->set_raw(
      absl::StrCat(R"({"spec":{"containers":[{"name":"worker","command":["python3","train.py"],)",
                   R"("args":[")", argument, R"("]}]}})"));
  job.annotations[kScriptsAnnotation] = absl::StrCat(R"({"train.py":")", script_hash, R"("})");
  return job;
}

TrainingJob In(TrainingJob job, const std::string& state, int64_t round = 1) {
  job.status.set_state(state);
  job.status.set_round(round);
  return job;
}

TEST(DecideReapply, MoreStepsOfTheSameTrainingGoOn) {
  EXPECT_EQ(
      DecideReapply(In(Training("gpt2-nano", 20), "Succeeded"), 20, Training("gpt2-nano", 30)).what,
      Reapply::kReplace);
  EXPECT_EQ(
      DecideReapply(In(Training("gpt2-nano", 20), "Suspended"), 7, Training("gpt2-nano", 30)).what,
      Reapply::kUpdate);
  EXPECT_EQ(
      DecideReapply(In(Training("gpt2-nano", 20), "Succeeded"), 20, Training("gpt2-nano", 20)).what,
      Reapply::kKeep);
}

// Regression: a finished job of another model was created anew under the name, on its checkpoints.
TEST(DecideReapply, AnotherModelUnderAnOldNameIsRefusedWhateverBecameOfTheOldOne) {
  for (const char* state : {"Succeeded", "Suspended", "Training", "Failed"}) {
    const ReapplyVerdict verdict =
        DecideReapply(In(Training("gpt2-nano", 20), state), 12, Training("gpt2-micro", 20));
    EXPECT_EQ(verdict.what, Reapply::kRefuse) << state;
    EXPECT_THAT(verdict.sentence, HasSubstr("spec.trainer.model must not change")) << state;
  }
}

TEST(DecideReapply, OtherDataOrAnotherPlaceForCheckpointsIsAnotherRun) {
  const TrainingJob current = In(Training("gpt2-nano", 20), "Succeeded");
  TrainingJob other = Training("gpt2-nano", 40);
  other.spec.mutable_trainer()->mutable_data()->set_uri("/other.txt");
  EXPECT_EQ(
      DecideReapply(current, 20, other).sentence,
      "spec.trainer.data.uri was /text.txt and is /other.txt now: put it back to go on with that "
      "run");
  other = Training("gpt2-nano", 40);
  other.spec.mutable_checkpoint()->set_uri("/elsewhere");
  EXPECT_EQ(DecideReapply(current, 20, other).sentence,
            "spec.checkpoint.uri was /checkpoints and is /elsewhere now: put it back to go on with "
            "that run");
}

TEST(DecideReapply, FewerStepsThanWereMadeAreAnotherRun) {
  const ReapplyVerdict verdict =
      DecideReapply(In(Training("gpt2-nano", 1000), "Suspended"), 509, Training("gpt2-nano", 10));
  EXPECT_EQ(verdict.what, Reapply::kRefuse);
  EXPECT_EQ(verdict.sentence, "it has made 509 steps, and spec.trainer.train.steps is 10 now");
}

TEST(DecideReapply, AChangedScriptOrCommandOfACommandThatSucceededIsRefused) {
  const TrainingJob current = In(Command("--lr=1", "aaaa"), "Succeeded");
  EXPECT_EQ(DecideReapply(current, 0, Command("--lr=1", "aaaa")).what, Reapply::kKeep);
  EXPECT_EQ(DecideReapply(current, 0, Command("--lr=1", "bbbb")).sentence,
            "train.py, which the command names, has changed since");
  EXPECT_EQ(DecideReapply(current, 0, Command("--lr=2", "aaaa")).sentence,
            "its command was [\"python3\",\"train.py\",\"--lr=1\"] and is "
            "[\"python3\",\"train.py\",\"--lr=2\"] now");
  EXPECT_EQ(DecideReapply(current, 0, Training("gpt2-nano", 10)).sentence,
            "its program was a command and is the trainer now");
}

// Otherwise a script could not be corrected and tried again.
TEST(DecideReapply, ACommandThatFailedMayBeMended) {
  EXPECT_EQ(
      DecideReapply(In(Command("--lr=1", "aaaa"), "Failed"), 0, Command("--lr=1", "bbbb")).what,
      Reapply::kReplace);
}

TEST(DecideReapply, AJobThatNeverRanIsReplaced) {
  TrainingJob wanted = Training("gpt2-micro", 10);
  EXPECT_EQ(DecideReapply(In(Training("gpt2-nano", 20), "Pending", 0), 0, wanted).what,
            Reapply::kReplace);
  wanted = Training("gpt2-nano", 10);
  EXPECT_EQ(DecideReapply(In(Training("gpt2-nano", 20), "Pending", 0), 0, wanted).what,
            Reapply::kUpdate);
  TrainingJob smaller = Command("--lr=1", "aaaa");
  smaller.spec.mutable_template_()->set_raw(
      R"({"spec":{"containers":[{"name":"worker","command":["true"]}]}})");
  EXPECT_EQ(DecideReapply(In(Command("--lr=1", "aaaa"), "Starting", 0), 0, smaller).what,
            Reapply::kReplace)
      << "its pods ask for what the old template asked for";
}

}  // namespace
}  // namespace muster::cli
