// Runs whole jobs on virtual time with faults, both random (seeded) and well-known ones.
#include <algorithm>
#include <string>

#include "base/testing/test_iterations.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "operator/core/resume/resume.h"
#include "operator/core/testing/sim_world.h"

namespace muster::control {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

void ExpectSucceeded(SimWorld& world, int64_t steps = 60) {
  EXPECT_THAT(world.violations, IsEmpty());
  EXPECT_EQ(world.job.status.state(), "Succeeded")
      << world.job.status.DebugString().substr(0, 3000);
  EXPECT_EQ(world.committed, steps);
}

void RunFor(SimWorld& world, absl::Duration time) {
  const absl::Time end = world.now + time;
  while (world.now < end) world.RunOnce();
}

// Runs until the committed step is at least `step`.
void RunToStep(SimWorld& world, int64_t step) {
  for (int i = 0; i < 20000 && world.committed < step; ++i) world.RunOnce();
}

void Fault(SimWorld& world) {
  switch (world.Number(0, 10)) {
    case 0:
    case 1:
      return world.KillRank();
    case 2:
      return world.KillAgent();
    case 3:
      return world.DeleteSomePod();
    case 4:
      return world.CutStream(absl::Milliseconds(world.Number(50, 3000)));
    case 5:
      return world.CutStream(absl::Seconds(world.Number(5, 25)));
    case 6:
      return world.ChangeLeader(world.Pick(2));
    case 7:
      return world.FailNextWrite();
    case 8:
      return world.job.spec.set_suspend(!world.job.spec.suspend());
    case 9:
      return world.job.spec.mutable_workers()->set_count(world.Number(1, 4));
    case 10:
      return world.KillRank(absl::Milliseconds(world.Number(100, 1500)));
  }
}

class ChaosTest : public ::testing::TestWithParam<int> {};

// Each case runs ten seeds, so that a failure names few of them; the long run has twenty times as
// many.
TEST_P(ChaosTest, ConvergesAndBreaksNoPromise) {
  const int seeds = TestIterations({.sanitized = 4, .usual = 10, .full = 200});
  for (int seed = GetParam() * seeds; seed < (GetParam() + 1) * seeds; ++seed) {
    SCOPED_TRACE(seed);
    SimWorld world(seed);
    const bool shrink = seed % 2 == 1;
    world.job.spec.mutable_failure_policy()->set_on_rank_failure(shrink ? "Shrink" : "RestartRank");
    world.job.spec.mutable_workers()->set_ranks(1 + seed % 3 / 2);
    world.job.spec.mutable_trainer()->mutable_train()->set_steps(300);
    const int faults = world.Number(1, 20);
    for (int i = 0; i < faults && !IsFinished(world.job.status); ++i) {
      RunFor(world, absl::Milliseconds(world.Number(0, 2500)));
      Fault(world);
    }
    if (world.Pick(4)) world.RuinNewestCheckpoint();
    world.job.spec.set_suspend(false);
    world.RunUntilEnded(absl::Minutes(20));
    // The ruined checkpoint may be the only one.
    if (world.ConditionReason(ConditionType::kRunning) == "False/CheckpointLost") {
      const v1alpha1::CheckpointStatus& floor = world.job.status.checkpoint();
      world.job.spec.mutable_checkpoint()->set_give_up(FloorText({floor.step(), floor.history()}));
      world.RunUntilEnded(absl::Minutes(20));
    }
    ExpectSucceeded(world, 300);
    RunFor(world, absl::Minutes(2));
    if (::testing::Test::HasFailure()) return;
  }
}
INSTANTIATE_TEST_SUITE_P(Seeds, ChaosTest, ::testing::Range(0, 25));

TEST(ScenarioTest, AnUndisturbedJobNeedsOneRound) {
  SimWorld world(1);
  world.RunUntilEnded(absl::Minutes(1));
  ExpectSucceeded(world);
  EXPECT_EQ(world.rounds_opened, 1);
  EXPECT_EQ(world.redone, 0);
  EXPECT_FALSE(world.job.status.has_failures());
  RunFor(world, absl::Seconds(5));
  const int writes = world.writes;
  RunFor(world, absl::Minutes(5));
  EXPECT_EQ(world.writes, writes) << "a job that has ended is left alone";
}

TEST(ScenarioTest, AKilledRankCostsOneRoundAndNoStep) {
  SimWorld world(2);
  RunToStep(world, 15);
  world.KillRank();
  world.RunUntilEnded(absl::Minutes(1));
  ExpectSucceeded(world);
  EXPECT_EQ(world.rounds_opened, 2);
  EXPECT_EQ(world.redone, 0);
  EXPECT_EQ(world.job.status.failures().count(), 1);
  EXPECT_THAT(world.job.status.failures().evidence(), HasSubstr("ended with exit code 137"));
}

TEST(ScenarioTest, ALostPodIsReplacedAndNotCounted) {
  SimWorld world(3);
  RunToStep(world, 15);
  world.KillAgent();
  world.RunUntilEnded(absl::Minutes(1));
  ExpectSucceeded(world);
  EXPECT_EQ(world.redone, 0);
  EXPECT_EQ(world.job.status.failures().count(), 0);
}

TEST(ScenarioTest, AllWorkersGoneAtOnceCostNothingAfterTheNewestCheckpoint) {
  SimWorld world(18);
  RunToStep(world, 37);
  world.KillEveryAgent();
  world.RunUntilEnded(absl::Minutes(1));
  ExpectSucceeded(world);
  EXPECT_EQ(world.redone, 7);
}

TEST(ScenarioTest, ANewLeaderAdoptsTheRunningRound) {
  SimWorld world(4);
  RunToStep(world, 15);
  world.ChangeLeader(/*zombie=*/false);
  world.RunUntilEnded(absl::Minutes(1));
  ExpectSucceeded(world);
  EXPECT_EQ(world.rounds_opened, 1);
  EXPECT_EQ(world.job.status.term(), 2);
  EXPECT_THAT(world.event_reasons, Contains("RoundAdopted"));
}

TEST(ScenarioTest, ANewLeaderTakesNobodyForDeadWithinTheWindow) {
  SimWorld world(5);
  RunToStep(world, 15);
  world.ChangeLeader(/*zombie=*/false);
  world.CutStream(absl::Seconds(8));
  const auto incarnations = world.job.status.incarnations();
  RunFor(world, absl::Seconds(9));
  EXPECT_EQ(world.rounds_opened, 1);
  EXPECT_TRUE(std::equal(incarnations.begin(), incarnations.end(),
                         world.job.status.incarnations().begin()));
}

// Regression: after the leader's node had lost its power, the next leader waited two minutes for
// the agents that were on it.
TEST(ScenarioTest, ANewLeaderSoonGivesUpWorkersWhoseNodeDoesNotAnswerEither) {
  SimWorld world(5);
  RunToStep(world, 15);
  world.DarkenNode(1);
  world.ChangeLeader(/*zombie=*/false);
  RunFor(world, absl::Seconds(25));
  EXPECT_EQ(world.job.status.incarnations(1), 1) << "its agent may still attach";
  RunFor(world, absl::Seconds(10));
  EXPECT_EQ(world.job.status.incarnations(1), 2);
  world.RunUntilEnded(absl::Minutes(2));
  ExpectSucceeded(world);
}

TEST(ScenarioTest, StepsThatAreDoneAgainGetATuningAtTheSameStepAlsoUnderANewLeader) {
  SimWorld world(11);
  RunToStep(world, 12);
  world.job.spec.mutable_trainer()->add_tunings()->set_learning_rate(1e-4);
  RunToStep(world, 17);
  ASSERT_EQ(world.in_force.size(), 1u) << "the ranks of the running round know of it";
  const int64_t step = world.in_force[0].step();
  EXPECT_EQ(world.rounds_opened, 1);
  ASSERT_EQ(world.job.status.tunings_size(), 1);
  EXPECT_EQ(world.job.status.tunings(0).step(), step);
  world.ChangeLeader(/*zombie=*/false);
  auto& later = *world.job.spec.mutable_trainer()->add_tunings();
  later.set_clip_norm(0.5);
  later.set_from_step(40);
  world.KillEveryAgent();
  RunToStep(world, 10);
  for (int i = 0; i < 20000 && world.rounds_opened == 1; ++i) world.RunOnce();
  world.RunUntilEnded(absl::Minutes(10));
  ExpectSucceeded(world);
  EXPECT_GT(world.redone, 0) << "the checkpoint was of step 10";
  ASSERT_EQ(world.in_force.size(), 2u);
  EXPECT_EQ(world.in_force[0].step(), step);
  EXPECT_EQ(world.in_force[1].step(), 40);
  ASSERT_EQ(world.job.status.tunings_size(), 2);
  EXPECT_EQ(world.job.status.tunings(0).step(), step);
  EXPECT_EQ(world.job.status.tunings(1).step(), 40);
  EXPECT_EQ(std::count(world.event_reasons.begin(), world.event_reasons.end(), "Tuned"), 2);
}

TEST(ScenarioTest, AShortCutOfAStreamChangesNothing) {
  SimWorld world(6);
  RunToStep(world, 15);
  world.CutStream(absl::Seconds(2));
  world.RunUntilEnded(absl::Minutes(1));
  ExpectSucceeded(world);
  EXPECT_EQ(world.rounds_opened, 1);
}

TEST(ScenarioTest, ShrinkGoesOnAtOnceAndGrowsBack) {
  SimWorld world(7);
  world.job.spec.mutable_failure_policy()->set_on_rank_failure("Shrink");
  world.job.spec.mutable_trainer()->mutable_train()->set_steps(300);
  RunToStep(world, 15);
  world.KillAgent();
  RunFor(world, absl::Milliseconds(400));
  EXPECT_EQ(world.ConditionReason(ConditionType::kDegraded), "True/FewerWorkers");
  EXPECT_EQ(world.job.status.state(), "Training");
  RunFor(world, absl::Seconds(10));
  EXPECT_EQ(world.ConditionReason(ConditionType::kDegraded), "False/AllWorkers");
  EXPECT_EQ(world.rounds_opened, 3);
  EXPECT_EQ(world.redone, 0);
  EXPECT_THAT(world.violations, IsEmpty());
}

// Returns the number of members of the next round that is Active after round `before`.
size_t NextActive(SimWorld& world, int64_t before) {
  for (int i = 0; i < 2000; ++i) {
    const SimAgent* agent = world.FindAgent(0);
    if (agent != nullptr && agent->phase == SimAgent::Phase::kRunning &&
        agent->round.round > before) {
      return static_cast<size_t>(agent->place.group_world_size);
    }
    world.RunOnce();
  }
  return 0;
}

// A survivor's stall may arrive before the exit that caused it; the next round must not be opened
// with the dead rank then. If there is no lag, the exit arrives first.
TEST(ScenarioTest, ShrinkLeavesTheDeadRankOutWhoeverIsHeardFirst) {
  for (int seed = 0; seed < 120; ++seed) {
    SCOPED_TRACE(seed);
    SimWorld world(1000 + seed);
    world.job.spec.mutable_failure_policy()->set_on_rank_failure("Shrink");
    world.job.spec.mutable_trainer()->mutable_train()->set_steps(300);
    const absl::Duration lag = absl::Milliseconds(seed % 3 == 0 ? 0 : world.Number(50, 2000));
    RunToStep(world, world.Number(2, 40));
    const int64_t round = world.job.status.round();
    const absl::Time died = world.now;
    world.EndRank(1, 137, "", lag);
    EXPECT_EQ(NextActive(world, round), 2u) << lag;
    // The first attempt comes at once, even if it takes two rounds to find its members.
    EXPECT_LT(world.now - died, lag + absl::Milliseconds(600)) << lag;
    EXPECT_EQ(NextActive(world, world.job.status.round()), 3u) << "it grows again";
    EXPECT_EQ(world.job.status.failures().count(), 1);
    world.RunUntilEnded(absl::Minutes(1));
    ExpectSucceeded(world, 300);
    EXPECT_EQ(world.redone, 0);
    if (::testing::Test::HasFailure()) return;
  }
}

TEST(ScenarioTest, ScalingUpAndDownKeepsTheSteps) {
  SimWorld world(8);
  world.job.spec.mutable_trainer()->mutable_train()->set_steps(400);
  RunToStep(world, 15);
  world.job.spec.mutable_workers()->set_count(4);
  RunFor(world, absl::Seconds(8));
  EXPECT_EQ(world.PodsInApi(), 4);
  EXPECT_EQ(world.job.status.workers().desired(), 4);
  world.job.spec.mutable_workers()->set_count(2);
  RunFor(world, absl::Seconds(8));
  EXPECT_EQ(world.PodsInApi(), 2);
  EXPECT_EQ(world.job.status.state(), "Training");
  EXPECT_EQ(world.redone, 0);
  EXPECT_THAT(world.violations, IsEmpty());
}

TEST(ScenarioTest, SuspendSavesAndResumeGoesOn) {
  SimWorld world(9);
  RunToStep(world, 15);
  world.job.spec.set_suspend(true);
  RunFor(world, absl::Seconds(10));
  EXPECT_EQ(world.ConditionReason(ConditionType::kSuspended), "True/WorkersStopped");
  EXPECT_EQ(world.job.status.state(), "Suspended");
  EXPECT_EQ(world.PodsInApi(), 0);
  world.job.spec.set_suspend(false);
  world.RunUntilEnded(absl::Minutes(1));
  ExpectSucceeded(world);
  EXPECT_EQ(world.redone, 0);
  EXPECT_EQ(world.ConditionReason(ConditionType::kSuspended), "False/Resumed");
}

TEST(ScenarioTest, ABadCheckpointIsLeftForAnOlderOne) {
  SimWorld world(10);
  RunToStep(world, 35);
  world.job.spec.set_suspend(true);
  RunFor(world, absl::Seconds(10));
  world.RuinNewestCheckpoint();
  world.job.spec.set_suspend(false);
  world.RunUntilEnded(absl::Minutes(2));
  ExpectSucceeded(world);
  EXPECT_THAT(world.event_reasons, Contains("JoinFailed"));
  EXPECT_GT(world.redone, 0);
  EXPECT_LE(world.redone, 10);
}

TEST(ScenarioTest, TooManyFailuresEndTheJob) {
  SimWorld world(11);
  world.job.spec.mutable_failure_policy()->set_max_failures(2);
  for (int i = 0; i < 3; ++i) {
    RunToStep(world, 10 * (i + 1));
    EXPECT_EQ(world.job.status.state(), "Training");
    world.KillRank();
    RunFor(world, absl::Milliseconds(500));
  }
  EXPECT_EQ(world.job.status.state(), "Failed");
  EXPECT_EQ(world.ConditionReason(ConditionType::kFailed), "True/TooManyFailures");
  EXPECT_EQ(world.job.status.failures().count(), 3);
  RunFor(world, absl::Seconds(2));
  EXPECT_EQ(world.FindAgent(0), nullptr) << "its workers are stopped";
}

TEST(ScenarioTest, BadInputEndsTheJobAtOnce) {
  SimWorld world(12);
  RunToStep(world, 5);
  world.FindAgent(1)->KillRank(0, 2, world.now, true);
  RunFor(world, absl::Seconds(1));
  EXPECT_EQ(world.ConditionReason(ConditionType::kFailed), "True/BadInput");
}

TEST(ScenarioTest, ARankThatDiesAtEveryStartBacksOffAndFails) {
  SimWorld world(13);
  world.job.spec.mutable_failure_policy()->set_max_failures(5);
  world.job.spec.mutable_failure_policy()->set_max_identical_failures(0);
  const absl::Time start = world.now;
  while (!IsFinished(world.job.status) && world.now < start + absl::Minutes(10)) {
    world.RunOnce();
    SimAgent* agent = world.FindAgent(2);
    const bool joins = agent != nullptr && agent->phase == SimAgent::Phase::kJoining;
    if (joins) agent->KillRank(0, 1, world.now, true);
  }
  EXPECT_EQ(world.ConditionReason(ConditionType::kFailed), "True/TooManyFailures");
  // The back-off between six rounds is 0 + 1 + 2 + 4 + 8 seconds.
  EXPECT_GT(world.now - start, absl::Seconds(15));
  EXPECT_EQ(world.rounds_opened, 6);
}

TEST(ScenarioTest, TheDeadlineCountsAndSaves) {
  SimWorld world(14);
  world.job.spec.mutable_trainer()->mutable_train()->set_steps(100000);
  world.job.spec.set_active_deadline("30s");
  world.RunUntilEnded(absl::Minutes(2));
  EXPECT_EQ(world.ConditionReason(ConditionType::kFailed), "True/DeadlineExceeded");
  EXPECT_THAT(world.now - world.job.job.created, testing::Lt(absl::Seconds(31)));
}

TEST(ScenarioTest, AFinishedJobExpires) {
  SimWorld world(15);
  world.job.spec.set_ttl_seconds_after_finished(60);
  world.RunUntilEnded(absl::Minutes(1));
  RunFor(world, absl::Seconds(58));
  EXPECT_FALSE(world.job_deleted);
  RunFor(world, absl::Seconds(3));
  EXPECT_TRUE(world.job_deleted);
}

TEST(ScenarioTest, ADeletedJobLosesItsPodsThenItsFinalizer) {
  SimWorld world(16);
  RunToStep(world, 5);
  EXPECT_THAT(world.job.job.finalizers, Contains("muster.dev/workers"));
  world.job.job.deleting = true;
  world.FailNextWrite();
  for (int i = 0; i < 200 && !world.job_deleted; ++i) world.RunOnce();
  EXPECT_TRUE(world.job_deleted);
  EXPECT_EQ(world.PodsInApi(), 0);
}

TEST(ScenarioTest, AnInvalidSpecStartsNothing) {
  SimWorld world(17);
  world.job.spec_errors = {"job.yaml:3: spec.workers.count: 9 is more than max 4"};
  RunFor(world, absl::Seconds(5));
  EXPECT_EQ(world.PodsInApi(), 0);
  EXPECT_EQ(world.ConditionReason(ConditionType::kAdmitted), "False/InvalidSpec");
  EXPECT_EQ(world.job.status.state(), "Pending");
  world.job.spec_errors.clear();
  world.FailNextWrite();
  world.KillAgent();
  RunFor(world, absl::Hours(1));
}

}  // namespace
}  // namespace muster::control
