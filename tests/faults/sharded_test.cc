// Disturbs jobs whose ranks divide the state: they end with the bits of an undisturbed job that
// does not. Jobs whose ranks divide the model end with those of one that is divided alike.

#include <signal.h>

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/files/files.h"
#include "base/json.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/faults/fault_job.h"
#include "tests/faults/undivided_state.h"

namespace muster::tests {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr int kSteps = 120;
// Generous even for a busy machine: a wait that exceeds this has failed.
constexpr absl::Duration kLong = absl::Minutes(5);

// With zero: 3 the checkpoint has the weights in parts.
TEST(ShardedTest, ALostSliceTakesTheJobBackToItsCheckpointAndTheLostStepsAreSaid) {
  for (const char* zero : {"1", "3"}) {
    auto run = StartUntilStep(
        25, absl::StrCat("lost-slice-", zero),
        {.steps = kSteps, .save_every = 15, .parallelism = absl::StrCat("{zero: ", zero, "}")});
    const auto saved = WaitForReason(*run, "Checkpointed", "CheckpointWritten", kLong);
    ASSERT_TRUE(saved.ok()) << saved.status();
    const std::vector<pid_t> trainers = run->Trainers();
    ASSERT_EQ(trainers.size(), 2u) << run->Output();
    kill(trainers[1], SIGKILL);
    ExpectUndividedState(*run, kSteps);
    EXPECT_THAT(run->Output(), HasSubstr("is not whole: no rank holds the part from "));
    EXPECT_THAT(run->Output(), HasSubstr("; loading step-0000000"));
  }
}

TEST(ShardedTest, ALostSliceTakesTheJobBackToItsCopiesInMemoryOnly) {
  for (const char* zero : {"1", "3"}) {
    auto run = StartUntilStep(25, absl::StrCat("copied-slice-", zero),
                              {.steps = kSteps,
                               .save_every = kSteps,
                               .parallelism = absl::StrCat("{zero: ", zero, "}"),
                               .memory = "{everySteps: 5, size: 256Mi}"});
    const std::vector<pid_t> trainers = run->Trainers();
    ASSERT_EQ(trainers.size(), 2u) << run->Output();
    const int64_t reported = run->last_step();
    kill(trainers[1], SIGKILL);
    ExpectUndividedState(*run, kSteps);
    const auto job = run->Job();
    ASSERT_TRUE(job.ok()) << job.status();
    const Json resume = (*job)["status"].value("resume", Json::object());
    EXPECT_EQ(resume.value("source", ""), "Memory") << run->Output();
    // One interval, and the steps in which the newest copy was being made.
    EXPECT_GE(resume.value("step", int64_t{0}), reported - 10) << DumpJson(resume);
    EXPECT_GT(resume.value("bytes", int64_t{0}), 0) << DumpJson(resume);
    EXPECT_THAT(resume.value("message", ""),
                HasSubstr("is not whole: no rank holds the part from"));
  }
}

// Kills one of four ranks in two copies of two shards, and expects that the job goes on in place.
// `more` is what the spec says of parallelism besides.
void ExpectAnotherCopyServes(const std::string& name, const char* zero, size_t victim,
                             const std::string& more = "") {
  auto run =
      StartUntilStep(25, name,
                     {.steps = kSteps,
                      .save_every = kSteps,
                      .min_workers = 4,
                      .workers = 4,
                      .parallelism = absl::StrCat("{zero: ", zero, ", shard: 2", more, "}")});
  const std::vector<pid_t> trainers = run->Trainers();
  ASSERT_EQ(trainers.size(), 4u) << run->Output();
  kill(trainers[victim], SIGKILL);
  ExpectUndividedState(*run, kSteps);
  EXPECT_GE(RoundOf(*run), 2) << run->Output();
  EXPECT_THAT(run->Output(), Not(HasSubstr("is not whole")));
}

TEST(ShardedTest, ASliceThatAnotherCopyHoldsIsSentAndNoStepIsLost) {
  ExpectAnotherCopyServes("second-copy", "1", 1);
}

// Ranks that divide the weights, too, have no whole copy of them between steps.
TEST(ShardedTest, DividedWeightsGoOnFromAnotherCopy) {
  ExpectAnotherCopyServes("divided-weights", "3", 2);
}

// The killed rank leaves nothing on the disk either.
TEST(ShardedTest, StateThatRestsInFilesGoesOnFromAnotherCopyAndLeavesNoFile) {
  const char* root = std::getenv("TEST_TMPDIR");
  const std::string scratch = absl::StrCat(root == nullptr ? "/tmp" : root, "/offload");
  ExpectAnotherCopyServes(
      "offloaded", "3", 1,
      absl::StrCat(", offload: {optimizer: Disk, weights: Disk, directory: ", scratch, "}"));
  const auto left = FileSystem().List(scratch);
  ASSERT_TRUE(left.ok()) << left.status();
  EXPECT_TRUE(left->empty()) << left->front().name;
}

// Returns a job of workers with two ranks each, which divide the model.
DisturbedJobSpec InTwoParts(int workers, const std::string& more = "") {
  return {.steps = kSteps,
          .save_every = kSteps,
          .min_workers = workers,
          .workers = workers,
          .ranks = 2,
          .parallelism = absl::StrCat("{tensor: 2", more, "}")};
}

// Expects that the run ends as an undisturbed run of `job` does.
void ExpectStateOf(const std::string& name, const DisturbedJobSpec& job, LocalRun& run) {
  const auto undisturbed = NewRun(name, job);
  ASSERT_TRUE(undisturbed->Start().ok());
  ExpectStateOf(*undisturbed, run, job.steps);
}

// Kills rank `victim` of `ranks`, and expects that the job goes on without loss and ends as an
// undisturbed run of `undisturbed` does.
void ExpectGoesOnWithout(size_t victim, size_t ranks, const std::string& name,
                         const DisturbedJobSpec& job, const DisturbedJobSpec& undisturbed) {
  auto run = StartUntilStep(25, name, job);
  const std::vector<pid_t> trainers = run->Trainers();
  ASSERT_EQ(trainers.size(), ranks) << run->Output();
  kill(trainers[victim], SIGKILL);
  ExpectStateOf(absl::StrCat(name, "-undisturbed"), undisturbed, *run);
  EXPECT_GE(RoundOf(*run), 2) << run->Output();
  EXPECT_THAT(run->Output(), Not(HasSubstr("is not whole")));
}

void ExpectStateOfTwoParts(LocalRun& run) { ExpectStateOf("two-parts", InTwoParts(1), run); }

TEST(TensorTest, APartThatAnotherWorkerHoldsIsSentAndNoStepIsLost) {
  for (const char* zero : {"", ", zero: 3, shard: 1"}) {
    ExpectGoesOnWithout(1, 4, absl::StrCat("part-", std::string(zero).size()), InTwoParts(2, zero),
                        InTwoParts(1));
  }
}

TEST(TensorTest, ALostPartTakesTheJobBackToItsCopiesInMemoryOnly) {
  DisturbedJobSpec job = InTwoParts(2, ", zero: 1");
  job.memory = "{everySteps: 5, size: 256Mi}";
  auto run = StartUntilStep(25, "copied-part", job);
  const std::vector<pid_t> trainers = run->Trainers();
  ASSERT_EQ(trainers.size(), 4u) << run->Output();
  kill(trainers[2], SIGKILL);
  ExpectStateOfTwoParts(*run);
  EXPECT_EQ(ResumeOf(*run).value("source", ""), "Memory") << run->Output();
  EXPECT_THAT(ResumeOf(*run).value("message", ""),
              HasSubstr("is not whole: no rank holds the part from"));
}

TEST(TensorTest, ALostPartTakesTheJobBackToItsCheckpoint) {
  DisturbedJobSpec job = InTwoParts(1);
  job.save_every = 15;
  auto run = StartUntilStep(25, "lost-part", job);
  const auto saved = WaitForReason(*run, "Checkpointed", "CheckpointWritten", kLong);
  ASSERT_TRUE(saved.ok()) << saved.status();
  const std::vector<pid_t> trainers = run->Trainers();
  ASSERT_EQ(trainers.size(), 2u) << run->Output();
  kill(trainers[0], SIGKILL);
  ExpectStateOfTwoParts(*run);
  EXPECT_THAT(run->Output(), HasSubstr("; loading step-0000000"));
}

// Returns a job of workers with one rank each; pairs of ranks divide each sequence.
DisturbedJobSpec InTwoRuns(int workers, const std::string& exchange) {
  return {.steps = kSteps,
          .save_every = kSteps,
          .min_workers = 2,
          .workers = workers,
          .parallelism = absl::StrCat("{context: 2, contextExchange: ", exchange, "}")};
}

TEST(ContextTest, ARankThatDividesSequencesIsReplacedAndNoStepIsLost) {
  for (const char* exchange : {"Heads", "Ring"}) {
    ExpectGoesOnWithout(1, 4, absl::StrCat("context-", exchange), InTwoRuns(4, exchange),
                        InTwoRuns(2, exchange));
  }
}

// Three of four workers are left, two of them divide sequences, and the last waits. Both of a group
// hold the whole state, so either is enough.
TEST(ContextTest, AJobThatShrinksGoesOnWithWholeGroups) {
  DisturbedJobSpec job = InTwoRuns(4, "Ring");
  job.on_rank_failure = "Shrink";
  auto run = StartUntilStep(25, "fewer-runs", job);
  const std::vector<pid_t> trainers = run->Trainers();
  ASSERT_EQ(trainers.size(), 4u) << run->Output();
  kill(trainers[2], SIGKILL);
  ExpectStateOf("two-runs", InTwoRuns(2, "Ring"), *run);
  EXPECT_GE(RoundOf(*run), 2) << run->Output();
}

// Returns a job of workers with one rank each, in two stages.
DisturbedJobSpec InTwoStages(int workers, const std::string& more = "") {
  return {.steps = kSteps,
          .save_every = kSteps,
          .min_workers = 2,
          .workers = workers,
          .parallelism = absl::StrCat("{pipeline: 2", more, "}")};
}

void ExpectStateOfTwoStages(LocalRun& run) { ExpectStateOf("two-stages", InTwoStages(2), run); }

TEST(PipelineTest, AStageThatAnotherWorkerHoldsIsSentAndNoStepIsLost) {
  for (const size_t victim : {size_t{1}, size_t{2}}) {
    ExpectGoesOnWithout(victim, 4, absl::StrCat("stage-", victim), InTwoStages(4), InTwoStages(2));
  }
}

// Three of four workers are left, two of them fill the stages, and the last waits.
TEST(PipelineTest, AJobThatShrinksGoesOnWithWhatFillsItsStages) {
  DisturbedJobSpec job = InTwoStages(4, ", zero: 1");
  job.on_rank_failure = "Shrink";
  auto run = StartUntilStep(25, "fewer-stages", job);
  const std::vector<pid_t> trainers = run->Trainers();
  ASSERT_EQ(trainers.size(), 4u) << run->Output();
  kill(trainers[0], SIGKILL);
  ExpectStateOfTwoStages(*run);
  EXPECT_GE(RoundOf(*run), 2) << run->Output();
}

TEST(PipelineTest, ALostStageTakesTheJobBackToItsCopiesInMemoryOnly) {
  DisturbedJobSpec job = InTwoStages(2);
  job.memory = "{everySteps: 5, size: 256Mi}";
  auto run = StartUntilStep(25, "copied-stage", job);
  const std::vector<pid_t> trainers = run->Trainers();
  ASSERT_EQ(trainers.size(), 2u) << run->Output();
  kill(trainers[1], SIGKILL);
  ExpectStateOfTwoStages(*run);
  EXPECT_EQ(ResumeOf(*run).value("source", ""), "Memory") << run->Output();
}

// Eight ranks share the machine's cores.
constexpr int kFewSteps = 50;

// Returns a job of workers with two ranks each, which divide layers, along other axes besides.
DisturbedJobSpec AlongSeveralAxes(int workers, const std::string& more) {
  return {.steps = kFewSteps,
          .global_batch = 16,
          .save_every = kFewSteps,
          .min_workers = 2,
          .workers = workers,
          .ranks = 2,
          .parallelism = absl::StrCat("{tensor: 2", more, "}")};
}

// The worker of the killed rank is given up. Two of the three that are left fill the stages.
TEST(SeveralAxesTest, AJobOfThreeAxesGoesOnWithFewerWorkers) {
  DisturbedJobSpec job = AlongSeveralAxes(4, ", pipeline: 2, zero: 1, shard: 1");
  job.on_rank_failure = "Shrink";
  ExpectGoesOnWithout(5, 8, "3d", job, AlongSeveralAxes(2, ", pipeline: 2"));
}

// The rank beside it in its group has the same part of the same stage.
TEST(SeveralAxesTest, ARankIsReplacedFromTheOneThatDividesItsSequences) {
  const DisturbedJobSpec job = AlongSeveralAxes(4, ", pipeline: 2, context: 2");
  ExpectGoesOnWithout(0, 8, "4d", job, job);
}

}  // namespace
}  // namespace muster::tests
