// Takes all workers of a job at once, with all that they have in memory, as a power cut, a restart
// of the nodes or a deletion of the pods does: training goes on from the copies on the nodes'
// disks, to the weights of an undisturbed run.

#include <poll.h>
#include <signal.h>

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/checkpoint/checkpoint_listing.h"
#include "base/clock.h"
#include "base/files/files.h"
#include "base/json.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/faults/copies_folders.h"
#include "tests/faults/fault_job.h"
#include "tests/faults/undivided_state.h"

namespace muster::tests {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// Generous even for a busy machine: a wait that exceeds this has failed.
constexpr absl::Duration kLong = absl::Minutes(5);
constexpr int kSteps = 600;

// No checkpoint is saved before the last step, so that only the disk has anything.
DisturbedJobSpec Job() {
  return {.steps = kSteps,
          .save_every = kSteps,
          .memory = "{everySteps: 5, size: 256Mi, disk: {path: $FOLDER/disk, every: 1s}}"};
}

// Returns, for each worker, the steps whose whole copies it has on disk.
std::vector<std::set<int64_t>> StepsOnDisk(const LocalRun& run, int workers) {
  std::vector<std::set<int64_t>> steps(workers);
  const std::string disk = run.folder() + "/disk";
  const auto jobs = FileSystem().List(disk);
  if (!jobs.ok() || jobs->empty()) return steps;
  for (int worker = 0; worker < workers; ++worker) {
    const auto copies = ListCheckpoints(
        FileSystem(), absl::StrCat(disk, "/", jobs->front().name, "/worker-", worker, "/rank-0"));
    if (!copies.ok()) continue;
    for (const CheckpointListing& copy : *copies) {
      if (copy.complete) steps[worker].insert(copy.step);
    }
  }
  return steps;
}

// Waits until every worker has a copy of one step on disk, and returns the newest such step.
int64_t AwaitCommonStep(const LocalRun& run, int workers) {
  const absl::Time deadline = Clock::Real().Monotonic() + kLong;
  while (Clock::Real().Monotonic() < deadline) {
    const std::vector<std::set<int64_t>> steps = StepsOnDisk(run, workers);
    for (auto step = steps[0].rbegin(); step != steps[0].rend(); ++step) {
      size_t have = 0;
      for (const std::set<int64_t>& of_worker : steps) have += of_worker.count(*step);
      if (have == steps.size()) return *step;
    }
    poll(nullptr, 0, 10);
  }
  ADD_FAILURE() << "the disks have no common step" << run.Output();
  return 0;
}

// Ends the agents with all of their ranks, and removes what they had in memory.
void LoseMemoryOfAll(const LocalRun& run) {
  const std::vector<pid_t> agents = run.Agents();
  const std::set<std::string> folders = CopiesFolders(agents);
  ASSERT_EQ(folders.size(), agents.size()) << run.Output();
  for (const pid_t agent : agents) kill(agent, SIGKILL);
  for (const std::string& folder : folders) {
    ASSERT_TRUE(RemoveAll(FileSystem(), folder).ok()) << folder;
  }
}

void ExpectWentOnFromDisk(const LocalRun& run, int64_t at_least) {
  const Json resume = ResumeOf(run);
  EXPECT_EQ(resume.value("source", ""), "Memory") << DumpJson(resume) << run.Output();
  EXPECT_GE(resume.value("step", int64_t{0}), at_least) << DumpJson(resume);
  EXPECT_GT(resume.value("bytes", int64_t{0}), 0) << DumpJson(resume);
  EXPECT_THAT(run.Output(), Not(HasSubstr("starting from initial weights: ")));
}

TEST(DiskCopiesTest, AJobThatLostAllWorkersWithTheirMemoryGoesOnFromTheDisks) {
  const auto run = StartUntilStep(15, "all-workers", Job());
  const int64_t step = AwaitCommonStep(*run, 2);
  ASSERT_NO_FATAL_FAILURE(LoseMemoryOfAll(*run));
  ExpectUndisturbedWeights(*run, Job());
  ExpectWentOnFromDisk(*run, step);
  EXPECT_TRUE(run->WaitForNoAgents(kLong).ok());
  const auto left = FileSystem().List(run->folder() + "/disk");
  ASSERT_TRUE(left.ok()) << left.status();
  EXPECT_TRUE(left->empty()) << "a job that has succeeded needs no copies";
}

// Each rank has a slice of the weights, and the operator is new, too.
TEST(DiskCopiesTest, AJobWhoseSlicesAreOnDisksAloneGoesOnUnderANewOperator) {
  DisturbedJobSpec job = Job();
  job.parallelism = "{zero: 3}";
  const auto run = StartUntilStep(15, "power-cut", job);
  const int64_t step = AwaitCommonStep(*run, 2);
  run->Signal(SIGKILL);
  ASSERT_NO_FATAL_FAILURE(LoseMemoryOfAll(*run));
  EXPECT_TRUE(run->WaitForEnd(kLong).ok());
  EXPECT_TRUE(run->WaitForNoAgents(kLong).ok());
  ASSERT_TRUE(run->Start().ok());
  ExpectUndividedState(*run, kSteps);
  ExpectWentOnFromDisk(*run, step);
}

TEST(DiskCopiesTest, ADiskThatLostItsCopiesTakesTheJobBackToItsCheckpoint) {
  DisturbedJobSpec job = Job();
  job.save_every = 20;
  job.parallelism = "{zero: 3}";
  const auto run = StartUntilStep(30, "lost-disk", job);
  AwaitCommonStep(*run, 2);
  const auto saved = WaitForReason(*run, "Checkpointed", "CheckpointWritten", kLong);
  ASSERT_TRUE(saved.ok()) << saved.status();
  // Agents that have stopped keep nothing more.
  for (const pid_t agent : run->Agents()) kill(agent, SIGSTOP);
  const std::string disk = run->folder() + "/disk";
  const auto jobs = FileSystem().List(disk);
  ASSERT_TRUE(jobs.ok() && jobs->size() == 1u);
  const std::string lost = absl::StrCat(disk, "/", jobs->front().name, "/worker-1");
  ASSERT_TRUE(RemoveAll(FileSystem(), lost).ok());
  ASSERT_NO_FATAL_FAILURE(LoseMemoryOfAll(*run));
  ExpectUndividedState(*run, kSteps);
  EXPECT_EQ(ResumeOf(*run).value("source", ""), "Checkpoint") << run->Output();
}

}  // namespace
}  // namespace muster::tests
