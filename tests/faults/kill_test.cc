// Kills each part of a real run at a moment drawn from a seed and asserts that the run ends with
// the weights of an undisturbed run, byte for byte. MUSTER_FULL=1 runs 20 seeds of each kind
// instead of 2.

#include <poll.h>
#include <signal.h>

#include <random>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/testing/test_iterations.h"
#include "gtest/gtest.h"
#include "tests/faults/fault_job.h"

namespace muster::tests {
namespace {

// Far more steps than moments, so that the run is still under way at each of them even on a busy
// machine.
constexpr int kSteps = 150;
constexpr int kMoments = 40;
// Generous: a wait that exceeds this has failed.
constexpr absl::Duration kLong = absl::Minutes(5);

const DisturbedJobSpec kJob = {.steps = kSteps, .save_every = 25};

class KillTest : public ::testing::TestWithParam<int> {
 protected:
  // Starts a run and returns at a moment drawn from the seed.
  std::unique_ptr<LocalRun> RunToTheMoment(const std::string& kind) {
    random_.seed(GetParam() * 1000003);
    auto run = NewRun(absl::StrCat(kind, "-", GetParam()), kJob);
    EXPECT_TRUE(run->Start().ok());
    const int step = std::uniform_int_distribution<int>(1, kMoments)(random_);
    const absl::Status reached = run->WaitForStep(step, kLong);
    EXPECT_TRUE(reached.ok()) << reached;
    poll(nullptr, 0, std::uniform_int_distribution<int>(0, 25)(random_));
    return run;
  }

  pid_t Pick(const std::vector<pid_t>& pids) {
    return pids.empty() ? 0
                        : pids[std::uniform_int_distribution<size_t>(0, pids.size() - 1)(random_)];
  }

  std::mt19937_64 random_;
};

TEST_P(KillTest, KilledTrainer) {
  auto run = RunToTheMoment("trainer");
  const pid_t victim = Pick(run->Trainers());
  ASSERT_GT(victim, 0) << run->Output();
  kill(victim, SIGKILL);
  ExpectUndisturbedWeights(*run, kJob);
}

TEST_P(KillTest, StoppedTrainer) {
  auto run = RunToTheMoment("stopped");
  const pid_t victim = Pick(run->Trainers());
  ASSERT_GT(victim, 0) << run->Output();
  kill(victim, SIGSTOP);
  ExpectUndisturbedWeights(*run, kJob);
}

TEST_P(KillTest, KilledAgent) {
  auto run = RunToTheMoment("agent");
  const pid_t victim = Pick(run->Agents());
  ASSERT_GT(victim, 0) << run->Output();
  kill(victim, SIGKILL);
  ExpectUndisturbedWeights(*run, kJob);
}

TEST_P(KillTest, KilledOperator) {
  auto run = RunToTheMoment("operator");
  run->Signal(SIGKILL);
  ASSERT_TRUE(run->WaitForEnd(kLong).ok());
  ASSERT_TRUE(run->Start().ok());
  ExpectUndisturbedWeights(*run, kJob);
}

INSTANTIATE_TEST_SUITE_P(Seeds, KillTest, ::testing::Range(1, FullEffort() ? 21 : 3));

}  // namespace
}  // namespace muster::tests
