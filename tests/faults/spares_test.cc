// Kills workers of jobs that have a spare: the run goes on with the spare in their ranks, and ends
// with the weights of an undisturbed run.

#include <poll.h>
#include <signal.h>

#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
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

// Generous even for a busy machine: a wait that exceeds this has failed.
constexpr absl::Duration kLong = absl::Minutes(5);
constexpr int kSteps = 1500;

Json StatusOf(const LocalRun& run) {
  const auto job = run.Job();
  return job.ok() ? job->value("status", Json::object()) : Json::object();
}

// Waits until the spare has loaded.
void AwaitSpare(const LocalRun& run) {
  const absl::Time deadline = Clock::Real().Monotonic() + kLong;
  while (Clock::Real().Monotonic() < deadline) {
    const Json status = StatusOf(run);
    if (status.value("workers", Json::object()).value("spares", 0) == 1) return;
    ASSERT_NE(status.value("state", ""), "Succeeded") << "the job ended before it had a spare";
    poll(nullptr, 0, 50);
  }
  FAIL() << "no spare within " << kLong << run.Output();
}

// The ranks divide the optimizer's state, and no checkpoint is saved before the last step: the
// slice of the lost worker comes from its replica.
TEST(SparesTest, ARunGoesOnWithTheSpareAndEndsWithTheWeightsOfAnUndisturbedOne) {
  const auto run = StartUntilStep(20, "swapped",
                                  {.steps = kSteps,
                                   .save_every = kSteps,
                                   .workers = 2,
                                   .spares = 1,
                                   .parallelism = "{zero: 1}",
                                   .memory = "{everySteps: 10, replicas: 1, size: 512Mi}"});
  ASSERT_NO_FATAL_FAILURE(AwaitSpare(*run));
  const std::vector<pid_t> agents = run->Agents();
  ASSERT_EQ(agents.size(), 3u) << run->Output();
  const std::set<std::string> folders = CopiesFolders({agents[1]});
  ASSERT_EQ(folders.size(), 1u) << run->Output();
  ASSERT_EQ(kill(agents[1], SIGKILL), 0);
  ASSERT_TRUE(RemoveAll(FileSystem(), *folders.begin()).ok());

  ExpectUndividedState(*run, kSteps);
  const Json swap = StatusOf(*run).value("swap", Json::object());
  EXPECT_EQ(swap.value("workers", ""), "1") << DumpJson(swap) << run->Output();
  EXPECT_EQ(swap.value("spares", ""), "2") << DumpJson(swap);
  EXPECT_GT(swap.value("pauseSeconds", 0.0), 0.0) << DumpJson(swap);
  RecordProperty("pause_seconds", absl::StrCat(swap.value("pauseSeconds", 0.0)));
  EXPECT_EQ(ResumeOf(*run).value("source", ""), "Memory") << run->Output();
}

}  // namespace
}  // namespace muster::tests
