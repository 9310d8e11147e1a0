// Tests faults that a restart of one rank or agent does not cure: a loss that shrinks the job, an
// operator that stays away, ranks and agents that return late, the loss of every rank, and
// checkpoints that cannot be written or read.

#include <poll.h>
#include <signal.h>

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/checkpoint/checkpoint_listing.h"
#include "base/clock.h"
#include "base/files/files.h"
#include "cli/jobs/history.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/faults/fault_job.h"

namespace muster::tests {
namespace {

using ::testing::HasSubstr;

// Generous even for a busy machine: a wait that exceeds this has failed.
constexpr absl::Duration kLong = absl::Minutes(5);
constexpr int kLookMillis = 10;
// Long enough to observe the job while it trains; the same in all tests, so that they share one
// undisturbed run.
constexpr int kLongSteps = 300;

// Waits for an agent that is not in `known`: the operator has replaced one of those.
bool WaitForAnotherAgent(const LocalRun& run, const std::vector<pid_t>& known) {
  const absl::Time deadline = Clock::Real().Monotonic() + kLong;
  const auto is_new = [&](pid_t pid) {
    return std::find(known.begin(), known.end(), pid) == known.end();
  };
  while (Clock::Real().Monotonic() < deadline) {
    const std::vector<pid_t> now = run.Agents();
    if (std::any_of(now.begin(), now.end(), is_new)) return true;
    poll(nullptr, 0, kLookMillis);
  }
  return false;
}

TEST(SurvivalTest, ShrinksAndGrowsAgain) {
  const DisturbedJobSpec job = {
      .steps = kLongSteps, .save_every = kLongSteps, .min_workers = 1, .on_rank_failure = "Shrink"};
  auto run = StartUntilStep(10, "shrink", job);
  const std::vector<pid_t> trainers = run->Trainers();
  ASSERT_EQ(trainers.size(), 2u) << run->Output();
  kill(trainers[1], SIGKILL);
  ExpectUndisturbedWeights(*run, job);
  EXPECT_GE(RoundOf(*run), 3) << "one round without the rank, one with it again\n" << run->Output();
  EXPECT_THAT(run->Output(), HasSubstr("MembershipChanged"));
}

TEST(SurvivalTest, OrphanedAgentsSaveAndEndAndTheSameCommandGoesOn) {
  const DisturbedJobSpec job = {
      .steps = kLongSteps, .save_every = kLongSteps, .orphan_deadline = "1s"};
  auto run = StartUntilStep(10, "orphans", job);
  run->Signal(SIGKILL);
  ASSERT_TRUE(run->WaitForEnd(kLong).ok());
  const absl::Status nobody = run->WaitForNoAgents(kLong);
  ASSERT_TRUE(nobody.ok()) << nobody;
  const auto saved = NewestTensors(run->Checkpoints());
  ASSERT_TRUE(saved.ok()) << saved.status();
  ASSERT_FALSE(saved->empty());
  EXPECT_LT((*saved)[0].first, "step-000000300") << "it finished before it was orphaned";
  // The agents' records of what they did alone are in the list at once, and in the curve for good.
  const int64_t alone = StepOfCheckpointName(ParentPath((*saved)[0].first));
  EXPECT_GT(alone, run->last_step());
  const auto listed = run->RunTool({"get"});
  ASSERT_TRUE(listed.ok()) << listed.status();
  EXPECT_THAT(listed->out, HasSubstr(absl::StrCat(alone, "/")));
  ASSERT_TRUE(run->Start().ok());
  ExpectUndisturbedWeights(*run, job);
  const auto history =
      cli::History::Load(FileSystem(), run->folder() + "/state/faults/steps.jsonl");
  ASSERT_TRUE(history.ok()) << history.status();
  EXPECT_EQ((*history)->steps().count(alone), 1u) << alone;
}

TEST(SurvivalTest, AStoppedAgentThatReturnsIsReplacedOrRefused) {
  const DisturbedJobSpec job = {.steps = kLongSteps, .save_every = kLongSteps};
  auto run = StartUntilStep(10, "late-agent", job);
  const std::vector<pid_t> agents = run->Agents();
  ASSERT_EQ(agents.size(), 2u) << run->Output();
  const int64_t round = RoundOf(*run);
  kill(agents[1], SIGSTOP);
  const std::vector<pid_t> trainers = run->Trainers();
  kill(trainers.back(), SIGKILL);  // so that a new round needs the stopped agent
  ASSERT_TRUE(WaitForAnotherAgent(*run, agents)) << run->Output();
  kill(agents[1], SIGCONT);
  ExpectUndisturbedWeights(*run, job);
  EXPECT_GT(RoundOf(*run), round);
}

TEST(SurvivalTest, EveryRankLostGoesOnFromTheNewestCheckpoint) {
  const DisturbedJobSpec job = {.steps = kLongSteps, .save_every = 15};
  auto run = StartUntilStep(25, "all-lost", job);
  for (const pid_t trainer : run->Trainers()) kill(trainer, SIGKILL);
  ExpectUndisturbedWeights(*run, job);
  EXPECT_GE(RoundOf(*run), 2);
}

TEST(SurvivalTest, EveryRankLostBeforeACheckpointStartsFresh) {
  const DisturbedJobSpec job = {.steps = kLongSteps, .save_every = kLongSteps};
  auto run = StartUntilStep(8, "all-lost-fresh", job);
  for (const pid_t trainer : run->Trainers()) kill(trainer, SIGKILL);
  ExpectUndisturbedWeights(*run, job);
}

TEST(SurvivalTest, ACheckpointThatCannotBeWrittenIsReportedAndRetried) {
  const DisturbedJobSpec job = {.steps = kLongSteps, .save_every = 20, .rank_deadline = "5m"};
  auto run = StartUntilStep(5, "unwritable", job);
  // A file in place of the directory keeps all users from writing to it, even root.
  const std::string away = run->Checkpoints() + ".away";
  ASSERT_TRUE(FileSystem().Rename(run->Checkpoints(), away).ok());
  ASSERT_TRUE(WriteFileAtomically(FileSystem(), run->Checkpoints(), "in the way").ok());
  const auto message = WaitForReason(*run, "Checkpointed", "CheckpointFailed", kLong);
  ASSERT_TRUE(message.ok()) << message.status();
  EXPECT_THAT(*message, HasSubstr("checkpoints")) << *message;
  const int64_t step = run->last_step();
  ASSERT_TRUE(run->WaitForStep(step + 5, kLong).ok()) << "training stands still";
  ASSERT_TRUE(FileSystem().Remove(run->Checkpoints()).ok());
  ASSERT_TRUE(FileSystem().Rename(away, run->Checkpoints()).ok());
  const auto written = WaitForReason(*run, "Checkpointed", "CheckpointWritten", kLong);
  EXPECT_TRUE(written.ok()) << written.status();
  ExpectUndisturbedWeights(*run, job);
  EXPECT_EQ(RoundOf(*run), 1) << "a failed save is no failure of a rank\n" << run->Output();
}

TEST(SurvivalTest, ADamagedCheckpointIsSkippedForAnOlderOne) {
  const DisturbedJobSpec job = {.steps = kLongSteps, .save_every = 30};
  auto run = StartUntilStep(70, "damaged", job);
  run->Signal(SIGINT);
  ASSERT_TRUE(run->WaitForEnd(kLong).ok());
  const auto newest = NewestTensors(run->Checkpoints());
  ASSERT_TRUE(newest.ok()) << newest.status();
  for (auto [name, bytes] : *newest) {
    bytes[bytes.size() / 2] = static_cast<char>(bytes[bytes.size() / 2] ^ 0x10);
    ASSERT_TRUE(WriteFileAtomically(FileSystem(), run->Checkpoints() + "/" + name, bytes).ok());
  }
  ASSERT_TRUE(run->Start().ok());
  ExpectUndisturbedWeights(*run, job);
  EXPECT_THAT(run->Output(), HasSubstr("JoinFailed"));
}

}  // namespace
}  // namespace muster::tests
