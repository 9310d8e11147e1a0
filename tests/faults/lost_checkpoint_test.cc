// Tests jobs whose checkpoints are gone, hidden or unusable: such a job holds and reports how to
// continue. It never restarts at step 0 by itself, and deletes nothing.

#include <signal.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/time/time.h"
#include "base/exit_codes.h"
#include "base/files/files.h"
#include "base/testing/patience.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/faults/fault_job.h"

namespace muster::tests {
namespace {

using ::testing::HasSubstr;

// Extracts the value for checkpoint.giveUp from the condition's message.
std::string GiveUpOf(const std::string& message) {
  const std::string before = "giveUp: \"";
  const size_t begin = message.find(before);
  if (begin == std::string::npos) return "";
  const size_t end = message.find('"', begin + before.size());
  return message.substr(begin + before.size(), end - begin - before.size());
}

std::string Manifest(double momentum, const std::string& more_checkpoint = "") {
  return absl::StrReplaceAll(ManifestOf({.steps = 40, .save_every = 20}),
                             {{"name: adamw", absl::StrCat("name: sgd, momentum: ", momentum)},
                              {"{uri: $FOLDER/checkpoints",
                               absl::StrCat("{", more_checkpoint, "uri: $FOLDER/checkpoints")}});
}

TEST(LostCheckpointTest, AnotherMomentumOnAFinishedJobHoldsItAndItsOwnerMayGiveTheOldRunUp) {
  const std::string folder = NewRun("momentum")->folder();
  {
    LocalRun run(folder, "faults", Manifest(0));
    ASSERT_TRUE(run.Start().ok());
    const auto end = run.WaitForEnd(kPatience);
    ASSERT_TRUE(end.ok() && end->code == kExitOk) << run.Output();
  }
  const auto before = NewestTensors(folder + "/checkpoints");
  ASSERT_TRUE(before.ok()) << before.status();
  std::string give_up;
  {
    LocalRun run(folder, "faults", Manifest(0.9));
    ASSERT_TRUE(run.Start().ok());
    const auto held = run.WaitForCondition("Running", "False", "CheckpointMismatch", kPatience);
    ASSERT_TRUE(held.ok()) << held.status() << run.Output();
    EXPECT_THAT(*held, HasSubstr("momentum"));
    EXPECT_TRUE(
        run.WaitForCondition("Checkpointed", "False", "CheckpointMismatch", kPatience).ok());
    give_up = GiveUpOf(*held);
    EXPECT_THAT(give_up, HasSubstr("40@"));
    const auto after = NewestTensors(folder + "/checkpoints");
    EXPECT_TRUE(after.ok() && *after == *before) << "it trained again";
    const absl::Status shown = run.WaitForOutput("waits: CheckpointMismatch", kPatience);
    EXPECT_TRUE(shown.ok()) << shown;
  }
  LocalRun run(folder, "faults", Manifest(0.9, absl::StrCat("giveUp: \"", give_up, "\", ")));
  ASSERT_TRUE(run.Start().ok());
  const auto end = run.WaitForEnd(kPatience);
  ASSERT_TRUE(end.ok()) << end.status();
  EXPECT_EQ(end->code, kExitOk) << run.Output();
  // The old run is set aside under a name that is never listed, and is deleted only by the user.
  const std::string old =
      absl::StrCat(folder, "/checkpoints/abandoned-", give_up.substr(give_up.find('@') + 1));
  EXPECT_TRUE(Exists(FileSystem(), old + "/step-000000040/DONE"));
  const auto pruned = run.RunTool({"checkpoints", "prune", "faults"});
  ASSERT_TRUE(pruned.ok()) << pruned.status();
  EXPECT_EQ(pruned->exit.code, kExitOk) << pruned->out;
  EXPECT_THAT(pruned->out, HasSubstr("2 checkpoints of runs that were given up"));
  EXPECT_FALSE(Exists(FileSystem(), old));
  EXPECT_TRUE(Exists(FileSystem(), folder + "/checkpoints/step-000000040/DONE"));
}

// Trains until the status has a checkpoint, kills every rank and calls `damage` with the checkpoint
// directory.
template <typename Damage>
std::unique_ptr<LocalRun> TrainAndDamage(const std::string& name, const DisturbedJobSpec& job,
                                         Damage damage) {
  auto run = NewRun(name, job);
  EXPECT_TRUE(run->Start().ok());
  const auto saved = WaitForReason(*run, "Checkpointed", "CheckpointWritten", kPatience);
  EXPECT_TRUE(saved.ok()) << saved.status() << run->Output();
  const std::vector<pid_t> trainers = run->Trainers();
  for (const pid_t trainer : trainers) kill(trainer, SIGKILL);
  damage(run->Checkpoints());
  return run;
}

TEST(LostCheckpointTest, ADirectoryThatIsGoneHoldsTheJobUntilItIsBack) {
  const DisturbedJobSpec job = {.steps = 300, .save_every = 60};
  std::string away;
  auto run = TrainAndDamage("gone", job, [&](const std::string& checkpoints) {
    away = checkpoints + ".away";
    ASSERT_TRUE(FileSystem().Rename(checkpoints, away).ok());
  });
  const auto held = WaitForReason(*run, "Running", "CheckpointLost", kPatience);
  ASSERT_TRUE(held.ok()) << held.status() << run->Output();
  EXPECT_THAT(*held, HasSubstr("which no rank finds"));
  EXPECT_NE(GiveUpOf(*held), "");
  // The held ranks may have created files there in the meantime, but no checkpoint.
  ASSERT_TRUE(RemoveAll(FileSystem(), run->Checkpoints()).ok());
  ASSERT_TRUE(FileSystem().Rename(away, run->Checkpoints()).ok());
  ExpectUndisturbedWeights(*run, job);
}

TEST(LostCheckpointTest, ADirectoryThatCannotBeListedHoldsTheJobUntilItCan) {
  const DisturbedJobSpec job = {.steps = 300, .save_every = 60};
  std::string away;
  // A symbolic link to itself cannot be listed, not even by root.
  auto run = TrainAndDamage("unlistable", job, [&](const std::string& checkpoints) {
    away = checkpoints + ".away";
    ASSERT_TRUE(FileSystem().Rename(checkpoints, away).ok());
    ASSERT_EQ(symlink("checkpoints", checkpoints.c_str()), 0);
  });
  const auto held = WaitForReason(*run, "Running", "CheckpointUnlistable", kPatience);
  ASSERT_TRUE(held.ok()) << held.status() << run->Output();
  EXPECT_THAT(*held, HasSubstr("could not be listed"));
  ASSERT_EQ(unlink(run->Checkpoints().c_str()), 0);
  ASSERT_TRUE(FileSystem().Rename(away, run->Checkpoints()).ok());
  ExpectUndisturbedWeights(*run, job);
}

}  // namespace
}  // namespace muster::tests
