// Takes away workers with all that they have in memory, as the loss of their node does, of jobs
// whose copies have replicas at another worker: training goes on from those, to the weights of an
// undisturbed run.

#include <poll.h>
#include <signal.h>

#include <memory>
#include <regex>
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
constexpr int kEvery = 10;
constexpr int kSteps = 160;

DisturbedJobSpec Job(int save_every, const std::string& zero) {
  return {.steps = kSteps,
          .save_every = save_every,
          .min_workers = 3,
          .workers = 3,
          .parallelism = absl::StrCat("{zero: ", zero, "}"),
          .memory = "{everySteps: 10, replicas: 1, size: 512Mi}"};
}

// Ends the agents with all of their ranks, and removes what they had in memory.
void LoseNodesOf(const LocalRun& run, const std::vector<pid_t>& agents) {
  const std::set<std::string> folders = CopiesFolders(agents);
  ASSERT_EQ(folders.size(), agents.size()) << run.Output();
  for (const pid_t agent : agents) {
    // The ranks end with their agent, whose link they lose.
    ASSERT_EQ(kill(agent, SIGKILL), 0);
  }
  for (const std::string& folder : folders) {
    ASSERT_TRUE(RemoveAll(FileSystem(), folder).ok()) << folder;
  }
}

// Returns how many steps that the survivors had taken are redone.
int64_t StepsLost(const Json& resume) {
  std::smatch found;
  const std::string message = resume.value("message", "");
  const std::regex lost("([0-9]+) steps? (is|are) lost");
  return std::regex_search(message, found, lost) ? std::stoll(found[1]) : 0;
}

// Waits until every worker of the run keeps a whole replica of another's copies.
absl::Status AwaitReplicas(const LocalRun& run, size_t workers) {
  const absl::Time deadline = Clock::Real().Monotonic() + kLong;
  while (Clock::Real().Monotonic() < deadline) {
    size_t kept = 0;
    for (const std::string& folder : CopiesFolders(run.Agents())) {
      for (size_t worker = 0; worker < workers; ++worker) {
        const auto copies =
            ListCheckpoints(FileSystem(), absl::StrCat(folder, "/replicas-", worker, "/rank-0"));
        kept += copies.ok() && !copies->empty() && copies->front().complete;
      }
    }
    if (kept == workers) return absl::OkStatus();
    poll(nullptr, 0, 10);
  }
  return absl::DeadlineExceededError("some worker keeps no replica");
}

// No checkpoint is saved before the last step, so that only the replica has the lost slice.
TEST(ReplicasTest, AWorkerLostWithItsMemoryIsReplacedFromItsReplica) {
  for (const char* zero : {"1", "3"}) {
    const auto run =
        StartUntilStep(45, absl::StrCat("lost-worker-", zero), Job(/*save_every=*/kSteps, zero));
    const std::vector<pid_t> agents = run->Agents();
    ASSERT_EQ(agents.size(), 3u) << run->Output();
    const int64_t reported = run->last_step();
    LoseNodesOf(*run, {agents[1]});
    ExpectUndividedState(*run, kSteps);
    const Json resume = ResumeOf(*run);
    EXPECT_EQ(resume.value("source", ""), "Memory") << DumpJson(resume) << run->Output();
    // One interval, and the steps in which the newest copy was made and streamed.
    EXPECT_GE(resume.value("step", int64_t{0}), reported - 2 * kEvery) << DumpJson(resume);
    EXPECT_LE(StepsLost(resume), 2 * kEvery) << DumpJson(resume);
    EXPECT_THAT(run->Output(), Not(HasSubstr("starting from initial weights: ")));
  }
}

// The round after the loss has the survivors alone: the replacement joins a later one.
TEST(ReplicasTest, SurvivorsGoOnWithoutTheLostWorkerFromItsReplica) {
  for (const char* zero : {"1", "3"}) {
    DisturbedJobSpec job = Job(/*save_every=*/kSteps, zero);
    job.min_workers = 2;
    job.on_rank_failure = "Shrink";
    const auto run = StartUntilStep(45, absl::StrCat("survivors-", zero), job);
    const std::vector<pid_t> agents = run->Agents();
    ASSERT_EQ(agents.size(), 3u) << run->Output();
    LoseNodesOf(*run, {agents[1]});
    ExpectUndividedState(*run, kSteps);
    EXPECT_THAT(run->Output(), HasSubstr("with 1 slice that no rank has from replicas of "));
    EXPECT_THAT(run->Output(), Not(HasSubstr("starting from initial weights: ")));
    EXPECT_GE(RoundOf(*run), 2) << run->Output();
  }
}

// Steps take long enough that each copy is made and sent within the next one.
TEST(ReplicasTest, WithACopyOfEachStepALostWorkerTakesOneStepBackAtMost) {
  DisturbedJobSpec job = Job(/*save_every=*/36, "1");
  job.steps = 36;
  job.global_batch = 128;
  job.memory = "{everySteps: 1, replicas: 1, size: 512Mi}";
  const auto run = StartUntilStep(8, "each-step", job);
  for (const size_t victim : {1, 2}) {
    const std::vector<pid_t> agents = run->Agents();
    ASSERT_EQ(agents.size(), 3u) << run->Output();
    const int64_t round = RoundOf(*run);
    LoseNodesOf(*run, {agents[victim]});
    const absl::Status reached = run->WaitForStep(run->last_step() + 8, kLong);
    ASSERT_TRUE(reached.ok()) << reached << run->Output();
    const Json resume = ResumeOf(*run);
    EXPECT_EQ(resume.value("source", ""), "Memory") << DumpJson(resume) << run->Output();
    EXPECT_GT(resume.value("round", int64_t{0}), round) << DumpJson(resume);
    EXPECT_LE(StepsLost(resume), 1) << DumpJson(resume);
    RecordProperty(absl::StrCat("steps_redone_", victim), static_cast<int>(StepsLost(resume)));
  }
  const auto end = run->WaitForEnd(kLong);
  ASSERT_TRUE(end.ok()) << end.status();
  EXPECT_EQ(end->code, 0) << run->Output();
}

TEST(ReplicasTest, RanksThatChooseTheIntervalLeaveAReplicaOfALostWorker) {
  DisturbedJobSpec job = Job(/*save_every=*/kSteps, "1");
  job.memory = "{replicas: 1, size: 512Mi}";
  const auto run = StartUntilStep(20, "chosen-interval", job);
  const absl::Status kept = AwaitReplicas(*run, 3);
  ASSERT_TRUE(kept.ok()) << kept << run->Output();
  const std::vector<pid_t> agents = run->Agents();
  ASSERT_EQ(agents.size(), 3u) << run->Output();
  LoseNodesOf(*run, {agents[1]});
  ExpectUndividedState(*run, kSteps);
  const Json resume = ResumeOf(*run);
  EXPECT_EQ(resume.value("source", ""), "Memory") << DumpJson(resume) << run->Output();
  EXPECT_GT(resume.value("step", int64_t{0}), 0) << DumpJson(resume);
}

// After the first loss another worker has been sent the copies that were lost with it.
TEST(ReplicasTest, WorkersLostOneAfterTheOtherAreEachReplacedFromTheirReplica) {
  const auto run = StartUntilStep(45, "lost-in-turn", Job(/*save_every=*/kSteps, "1"));
  for (const size_t victim : {0, 1}) {
    const std::vector<pid_t> agents = run->Agents();
    ASSERT_EQ(agents.size(), 3u) << run->Output();
    const int64_t round = RoundOf(*run);
    LoseNodesOf(*run, {agents[victim]});
    const absl::Status reached = run->WaitForStep(run->last_step() + 30, kLong);
    ASSERT_TRUE(reached.ok()) << reached << run->Output();
    const Json resume = ResumeOf(*run);
    EXPECT_EQ(resume.value("source", ""), "Memory") << DumpJson(resume) << run->Output();
    EXPECT_GT(resume.value("round", int64_t{0}), round) << DumpJson(resume);
  }
  ExpectUndividedState(*run, kSteps);
}

TEST(ReplicasTest, AWorkerLostTogetherWithItsKeeperTakesTheJobBackToItsCheckpoint) {
  const auto run = StartUntilStep(45, "lost-keeper", Job(/*save_every=*/20, "1"));
  const auto saved = WaitForReason(*run, "Checkpointed", "CheckpointWritten", kLong);
  ASSERT_TRUE(saved.ok()) << saved.status();
  const std::vector<pid_t> agents = run->Agents();
  ASSERT_EQ(agents.size(), 3u) << run->Output();
  // With one survivor of three, one of the two that are lost was kept by the other.
  LoseNodesOf(*run, {agents[0], agents[1]});
  ExpectUndividedState(*run, kSteps);
  EXPECT_EQ(ResumeOf(*run).value("source", ""), "Checkpoint") << run->Output();
}

}  // namespace
}  // namespace muster::tests
