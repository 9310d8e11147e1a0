// Kills processes of jobs that keep copies of their state in memory: training goes on from a copy,
// to the weights of an undisturbed run, and nothing stays in memory afterwards.

#include <poll.h>
#include <signal.h>

#include <memory>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "base/files/files.h"
#include "base/json.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/faults/copies_folders.h"
#include "tests/faults/fault_job.h"

namespace muster::tests {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// Generous even for a busy machine: a wait that exceeds this has failed.
constexpr absl::Duration kLong = absl::Minutes(5);
constexpr int kEvery = 5;
// No checkpoint is saved before the last step, so that only copies can spare the work.
constexpr int kSteps = 120;
const DisturbedJobSpec kJob = {
    .steps = kSteps, .save_every = kSteps, .memory = "{everySteps: 5, size: 256Mi}"};

void ExpectGone(const std::set<std::string>& folders) {
  EXPECT_FALSE(folders.empty());
  for (const std::string& folder : folders) {
    EXPECT_FALSE(Exists(FileSystem(), folder)) << folder << " is left behind";
  }
}

TEST(CopiesTest, AJobWhoseRanksAllDieGoesOnFromItsCopies) {
  const auto run = StartUntilStep(28, "all-ranks", kJob);
  const std::set<std::string> folders = CopiesFolders(run->Agents());
  const std::vector<pid_t> trainers = run->Trainers();
  ASSERT_EQ(trainers.size(), 2u) << run->Output();
  const int64_t reported = run->last_step();
  for (const pid_t pid : trainers) kill(pid, SIGKILL);
  ExpectUndisturbedWeights(*run, kJob);
  const Json resume = ResumeOf(*run);
  EXPECT_EQ(resume.value("source", ""), "Memory") << DumpJson(resume) << run->Output();
  // One interval, and the steps in which the newest copy was being made.
  EXPECT_GE(resume.value("step", int64_t{0}), reported - 2 * kEvery) << DumpJson(resume);
  EXPECT_GT(resume.value("bytes", int64_t{0}), 0) << DumpJson(resume);
  EXPECT_THAT(run->Output(), HasSubstr("loading the copies of step "));
  EXPECT_THAT(run->Output(), Not(HasSubstr("starting from initial weights: ")));
  ExpectGone(folders);
}

// Each moment is drawn from a seed: in a step, in a copy, or while one is completed.
TEST(CopiesTest, RanksThatDieAtAnyMomentLeaveACopyToGoOnFrom) {
  std::mt19937_64 random(20'26'11);
  auto run = NewRun("any-moment", kJob);
  ASSERT_TRUE(run->Start().ok());
  // The first copy is complete, and the last step far away, on a fast machine perhaps only once.
  for (int step = 2 * kEvery + 1, kills = 0; kills < 3 && step < kSteps - 40; ++kills) {
    const absl::Status reached = run->WaitForStep(step, kLong);
    ASSERT_TRUE(reached.ok()) << reached << run->Output();
    poll(nullptr, 0, std::uniform_int_distribution<int>(0, 60)(random));
    for (const pid_t pid : run->Trainers()) kill(pid, SIGKILL);
    step =
        static_cast<int>(run->last_step()) + 1 + std::uniform_int_distribution<int>(0, 7)(random);
  }
  ExpectUndisturbedWeights(*run, kJob);
  EXPECT_EQ(ResumeOf(*run).value("source", ""), "Memory") << run->Output();
  EXPECT_THAT(run->Output(), Not(HasSubstr("starting from initial weights: ")));
}

// A killed agent leaves its copies; the next agent of the machine removes them.
TEST(CopiesTest, CopiesOfAKilledAgentAreRemovedByTheNext) {
  const auto run = StartUntilStep(28, "killed-agent", kJob);
  const std::set<std::string> folders = CopiesFolders(run->Agents());
  EXPECT_EQ(folders.size(), 2u);
  const std::vector<pid_t> agents = run->Agents();
  ASSERT_FALSE(agents.empty()) << run->Output();
  kill(agents[0], SIGKILL);
  ExpectUndisturbedWeights(*run, kJob);
  ExpectGone(folders);
}

}  // namespace
}  // namespace muster::tests
