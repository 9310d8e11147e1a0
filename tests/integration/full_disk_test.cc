// Tests a disk that is full at checkpoint time: training continues, the job reports the failure,
// and the next save after there is room succeeds. The disk is a small tmpfs that only this test and
// its children see.

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "absl/time/time.h"
#include "base/exit_codes.h"
#include "base/files/files.h"
#include "base/testing/patience.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/integration/local_run.h"

namespace muster::tests {
namespace {

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
    train: {steps: 1000000, globalBatch: 4, microBatch: 2, sequence: 64}
  checkpoint: {uri: $FOLDER/checkpoints, interval: {mode: Steps, steps: 20}}
)";

absl::Status Failed(const std::string& what) {
  return absl::InternalError(absl::StrCat(what, ": ", std::strerror(errno)));
}

// Enters a mount namespace of its own; a user other than root also gets a user namespace in which
// it is root.
absl::Status EnterOwnMounts() {
  const uid_t user = geteuid();
  const gid_t group = getegid();
  if (unshare(user == 0 ? CLONE_NEWNS : CLONE_NEWNS | CLONE_NEWUSER) != 0) return Failed("unshare");
  if (user != 0) {
    std::ofstream("/proc/self/setgroups") << "deny";
    std::ofstream("/proc/self/uid_map") << "0 " << user << " 1";
    std::ofstream("/proc/self/gid_map") << "0 " << group << " 1";
  }
  if (mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) return Failed("mount /");
  return absl::OkStatus();
}

// Fills the disk to the last byte.
void Fill(const std::string& path) {
  const int fd = open(path.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0644);
  ASSERT_GE(fd, 0);
  const std::string block(1 << 16, 'x');
  for (size_t size = block.size(); size > 0;) {
    if (write(fd, block.data(), size) <= 0) size /= 2;
  }
  close(fd);
}

// Creates files until no more are allowed, then removes `left` of them.
void FillNames(const std::string& folder, int left) {
  int made = 0;
  for (int fd = 0; fd >= 0; ++made) {
    fd = open(absl::StrCat(folder, "/", made).c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0644);
    ASSERT_TRUE(fd >= 0 || errno == ENOSPC) << std::strerror(errno);
    if (fd >= 0) close(fd);
  }
  for (int i = 0; i < left; ++i) {
    ASSERT_TRUE(FileSystem().Remove(absl::StrCat(folder, "/", made - 2 - i)).ok());
  }
}

// Fixture with a folder of training text and a tmpfs for the checkpoints, which is unmounted after
// the test.
class FullDiskTest : public testing::Test {
 protected:
  void Mount(const std::string& name, const char* limits) {
    folder_ = FreshFolder(name);
    disk_ = folder_ + "/checkpoints";
    std::string text;
    while (text.size() < 40'000) absl::StrAppend(&text, "Words to train on, ", text.size(), ".\n");
    ASSERT_TRUE(WriteFileAtomically(FileSystem(), folder_ + "/text.txt", text).ok());
    ASSERT_TRUE(FileSystem().MakeDirectories(disk_).ok());
    if (const absl::Status entered = EnterOwnMounts(); !entered.ok()) {
      GTEST_SKIP() << "this machine lets a user mount nothing: " << entered;
    }
    ASSERT_EQ(mount("tmpfs", disk_.c_str(), "tmpfs", 0, limits), 0) << std::strerror(errno);
    mounted_ = true;
  }
  ~FullDiskTest() override {
    if (!mounted_) return;
    EXPECT_EQ(umount2(disk_.c_str(), MNT_DETACH), 0);
  }

  // Trains on the full disk, calls `make_room`, and expects that a save succeeds. Stores the
  // message of the failed save in `said`.
  template <typename MakeRoom>
  void TrainThroughIt(std::string& said, MakeRoom make_room) {
    LocalRun run(folder_, "small", kManifest);
    ASSERT_TRUE(run.Start().ok());
    ASSERT_TRUE(run.WaitForStep(20, kPatience).ok()) << run.Output();
    const auto failed =
        run.WaitForCondition("Checkpointed", "False", "CheckpointFailed", kPatience);
    ASSERT_TRUE(failed.ok()) << failed.status();
    said = *failed;
    EXPECT_FALSE(NewestTensors(disk_).ok());
    const int64_t then = run.last_step();
    const absl::Status goes_on = run.WaitForStep(then + 40, kPatience);
    ASSERT_TRUE(goes_on.ok()) << goes_on;

    make_room();
    const auto written =
        run.WaitForCondition("Checkpointed", "True", "CheckpointWritten", kPatience);
    ASSERT_TRUE(written.ok()) << written.status();
    EXPECT_TRUE(NewestTensors(disk_).ok());
    const auto job = run.Job();
    ASSERT_TRUE(job.ok()) << job.status();
    EXPECT_EQ((*job)["status"]["round"], 1) << "a failed save broke the round";
    run.Signal(SIGINT);
    const auto end = run.WaitForEnd(kPatience);
    ASSERT_TRUE(end.ok()) << end.status();
    EXPECT_EQ(end->code, kExitSignalBase + SIGINT) << run.Output();
  }

  std::string folder_, disk_;
  bool mounted_ = false;
};

TEST_F(FullDiskTest, AFailedSaveIsReportedTrainingGoesOnAndALaterSaveWorks) {
  Mount("full-disk", "size=256m");
  if (IsSkipped() || HasFatalFailure()) return;
  Fill(disk_ + "/filler");
  std::string said;
  TrainThroughIt(said, [&] { ASSERT_TRUE(FileSystem().Remove(disk_ + "/filler").ok()); });
  EXPECT_THAT(said, HasSubstr("the checkpoint needs "));
  EXPECT_THAT(said, HasSubstr(" are free"));
}

// Bytes are free, so a save begins; then the disk takes only its folder and one file.
TEST_F(FullDiskTest, ASaveThatTheDiskRefusesInTheMiddleLeavesNothing) {
  Mount("full-in-the-middle", "size=256m,nr_inodes=100");
  if (IsSkipped() || HasFatalFailure()) return;
  const std::string fillers = disk_ + "/fillers";
  ASSERT_TRUE(FileSystem().MakeDirectories(fillers).ok());
  FillNames(fillers, 4);  // the claim also needs a folder and a file
  std::string said;
  TrainThroughIt(said, [&] { ASSERT_TRUE(RemoveAll(FileSystem(), fillers).ok()); });
  EXPECT_THAT(said, HasSubstr("No space left on device"));
  const auto left = FileSystem().List(disk_);
  ASSERT_TRUE(left.ok()) << left.status();
  for (const DirectoryEntry& entry : *left) {
    const bool whole = Exists(FileSystem(), absl::StrCat(disk_, "/", entry.name, "/DONE"));
    EXPECT_TRUE(whole || entry.name == "loss.svg" || entry.name == "claim") << entry.name;
  }
}

std::string ShortManifest(int max_failures) {
  return absl::StrCat(absl::StrReplaceAll(kManifest, {{"steps: 1000000", "steps: 30"},
                                                      {"steps: 20}", "steps: 1000}"}}),
                      "  failurePolicy: {maxFailures: ", max_failures,
                      ", initialBackoff: 100ms, maxBackoff: 200ms}\n");
}

TEST_F(FullDiskTest, AJobWhoseLastStepIsNotSavedSucceedsOnceThereIsRoom) {
  Mount("full-at-the-end", "size=256m");
  if (IsSkipped() || HasFatalFailure()) return;
  Fill(disk_ + "/filler");
  LocalRun run(folder_, "small", ShortManifest(/*max_failures=*/100));
  ASSERT_TRUE(run.Start().ok());
  const auto waits = run.WaitForCondition("Running", "False", "LastStepNotSaved", kPatience);
  ASSERT_TRUE(waits.ok()) << waits.status() << run.Output();
  EXPECT_THAT(*waits, HasSubstr("are free"));
  const absl::Status shown = run.WaitForOutput("waits: LastStepNotSaved", kPatience);
  EXPECT_TRUE(shown.ok()) << shown;
  ASSERT_TRUE(FileSystem().Remove(disk_ + "/filler").ok());
  const auto end = run.WaitForEnd(kPatience);
  ASSERT_TRUE(end.ok()) << end.status();
  EXPECT_EQ(end->code, kExitOk) << run.Output();
  const auto saved = NewestTensors(disk_);
  ASSERT_TRUE(saved.ok() && !saved->empty()) << saved.status();
  EXPECT_THAT((*saved)[0].first, HasSubstr("step-000000030"));
}

// Regression: the stop ended like a good one, and every step was lost.
TEST_F(FullDiskTest, AStopWhoseSaveFailsWaitsForRoomAndThenLosesNothing) {
  Mount("full-at-the-stop", "size=256m");
  if (IsSkipped() || HasFatalFailure()) return;
  Fill(disk_ + "/filler");
  LocalRun run(folder_, "small", kManifest);
  ASSERT_TRUE(run.Start().ok());
  ASSERT_TRUE(run.WaitForCondition("Checkpointed", "False", "CheckpointFailed", kPatience).ok());
  run.Signal(SIGINT);
  const auto waits = run.WaitForCondition("Suspended", "False", "StepsNotSaved", kPatience);
  ASSERT_TRUE(waits.ok()) << waits.status();
  EXPECT_THAT(*waits, HasSubstr("steps 1 to "));
  EXPECT_THAT(*waits, HasSubstr(" are free"));
  const absl::Status shown = run.WaitForOutput("Ctrl-C again stops without them", kPatience);
  EXPECT_TRUE(shown.ok()) << shown;
  ASSERT_TRUE(FileSystem().Remove(disk_ + "/filler").ok());
  const auto end = run.WaitForEnd(kPatience);
  ASSERT_TRUE(end.ok()) << end.status();
  EXPECT_EQ(end->code, kExitSignalBase + SIGINT) << run.Output();
  const auto saved = NewestTensors(disk_);
  ASSERT_TRUE(saved.ok() && !saved->empty()) << saved.status() << run.Output();
  EXPECT_THAT((*saved)[0].first, HasSubstr(absl::StrFormat("step-%09d", run.last_step())));
}

TEST_F(FullDiskTest, AStopWithoutRoomSaysWhatIsLostAndSoDoesTheResume) {
  Mount("full-after-the-stop", "size=256m");
  if (IsSkipped() || HasFatalFailure()) return;
  Fill(disk_ + "/filler");
  LocalRun run(folder_, "small", kManifest);
  ASSERT_TRUE(run.Start().ok());
  ASSERT_TRUE(run.WaitForCondition("Checkpointed", "False", "CheckpointFailed", kPatience).ok());
  run.Signal(SIGINT);
  ASSERT_TRUE(run.WaitForCondition("Suspended", "False", "StepsNotSaved", kPatience).ok());
  run.Signal(SIGINT);
  const auto end = run.WaitForEnd(kPatience);
  ASSERT_TRUE(end.ok()) << end.status();
  EXPECT_EQ(end->code, kExitStepsNotSaved) << run.Output();
  const std::string lost = absl::StrCat("steps 1 to ", run.last_step(), " are not saved");
  EXPECT_THAT(run.Output(), HasSubstr(lost));
  ASSERT_TRUE(FileSystem().Remove(disk_ + "/filler").ok());
  ASSERT_TRUE(run.Resume().ok());
  const absl::Status said =
      run.WaitForOutput(absl::StrCat("begins anew: ", lost, " and trained again"), kPatience);
  EXPECT_TRUE(said.ok()) << said;
  run.Signal(SIGINT);
  ASSERT_TRUE(run.WaitForEnd(kPatience).ok());
}

TEST_F(FullDiskTest, AStopOfAJobThatWaitsForRoomForItsLastStepSavesItOnceThereIsRoom) {
  Mount("full-at-the-end-and-stopped", "size=256m");
  if (IsSkipped() || HasFatalFailure()) return;
  Fill(disk_ + "/filler");
  LocalRun run(folder_, "small", ShortManifest(/*max_failures=*/100));
  ASSERT_TRUE(run.Start().ok());
  ASSERT_TRUE(run.WaitForCondition("Running", "False", "LastStepNotSaved", kPatience).ok());
  run.Signal(SIGINT);
  const auto waits = run.WaitForCondition("Suspended", "False", "StepsNotSaved", kPatience);
  ASSERT_TRUE(waits.ok()) << waits.status();
  EXPECT_THAT(*waits, HasSubstr("steps 1 to 30 are not saved"));
  ASSERT_TRUE(FileSystem().Remove(disk_ + "/filler").ok());
  const auto end = run.WaitForEnd(kPatience);
  ASSERT_TRUE(end.ok()) << end.status();
  EXPECT_EQ(end->code, kExitOk) << "nothing is left to go on with: " << run.Output();
  const auto saved = NewestTensors(disk_);
  ASSERT_TRUE(saved.ok() && !saved->empty()) << saved.status() << run.Output();
  EXPECT_THAT((*saved)[0].first, HasSubstr("step-000000030"));
}

TEST_F(FullDiskTest, AJobThatCanNeverSaveItsLastStepFails) {
  Mount("full-for-good", "size=256m");
  if (IsSkipped() || HasFatalFailure()) return;
  Fill(disk_ + "/filler");
  LocalRun run(folder_, "small", ShortManifest(/*max_failures=*/2));
  ASSERT_TRUE(run.Start().ok());
  const auto end = run.WaitForEnd(kPatience);
  ASSERT_TRUE(end.ok()) << end.status();
  EXPECT_EQ(end->code, kExitFailed) << run.Output();
  EXPECT_THAT(run.Output(), HasSubstr("failed: LastStepNotSaved"));
}

TEST_F(FullDiskTest, AReadOnlyDirectoryIsFoundBeforeTheFirstStep) {
  Mount("read-only", "size=16m");
  if (IsSkipped() || HasFatalFailure()) return;
  ASSERT_EQ(mount("none", disk_.c_str(), nullptr, MS_REMOUNT | MS_RDONLY, nullptr), 0)
      << std::strerror(errno);
  LocalRun run(folder_, "small", ShortManifest(/*max_failures=*/2));
  ASSERT_TRUE(run.Start().ok());
  const auto end = run.WaitForEnd(kPatience);
  ASSERT_TRUE(end.ok()) << end.status();
  EXPECT_EQ(end->code, kExitBadInput) << run.Output();
  EXPECT_THAT(run.Output(), HasSubstr("checkpoint.uri: "));
  EXPECT_EQ(run.last_step(), 0) << "it trained what it could not save";
}

// The claim exists from before, so only an attempt to write shows that the disk is read-only.
TEST_F(FullDiskTest, AJobWhoseDirectoryBecameReadOnlyWaitsBeforeItsFirstStepAndGoesOn) {
  Mount("read-only-later", "size=256m");
  if (IsSkipped() || HasFatalFailure()) return;
  LocalRun run(folder_, "small", kManifest);
  ASSERT_TRUE(run.Start().ok());
  const auto saved = run.WaitForCondition("Checkpointed", "True", "CheckpointWritten", kPatience);
  ASSERT_TRUE(saved.ok()) << saved.status() << run.Output();
  run.Signal(SIGINT);
  ASSERT_TRUE(run.WaitForEnd(kPatience).ok());
  const int64_t stopped_at = run.last_step();
  ASSERT_EQ(mount("none", disk_.c_str(), nullptr, MS_REMOUNT | MS_RDONLY, nullptr), 0)
      << std::strerror(errno);
  ASSERT_TRUE(run.Start().ok());
  const auto waits = run.WaitForCondition("Running", "False", "JoinFailed", kPatience);
  ASSERT_TRUE(waits.ok()) << waits.status() << run.Output();
  EXPECT_THAT(*waits, HasSubstr("checkpoint.uri cannot be written"));
  EXPECT_EQ(run.last_step(), stopped_at) << "it trained what it could not save";
  ASSERT_EQ(mount("none", disk_.c_str(), nullptr, MS_REMOUNT, nullptr), 0) << std::strerror(errno);
  const absl::Status goes_on = run.WaitForStep(stopped_at + 20, kPatience);
  ASSERT_TRUE(goes_on.ok()) << goes_on;
  run.Signal(SIGINT);
  ASSERT_TRUE(run.WaitForEnd(kPatience).ok());
}

}  // namespace
}  // namespace muster::tests
