// Runs whole jobs on virtual time whose failures the failure policy judges.
#include <algorithm>
#include <string>

#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "operator/core/state/conditions.h"
#include "operator/core/testing/sim_agent.h"
#include "operator/core/testing/sim_world.h"
#include "proto/muster/v1alpha1/training_job.pb.h"

namespace muster::control {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

void RunFor(SimWorld& world, absl::Duration time) {
  const absl::Time end = world.now + time;
  while (world.now < end) world.RunOnce();
}

// Runs until the committed step is at least `step`, or the job has ended.
void RunToStep(SimWorld& world, int64_t step) {
  for (int i = 0; i < 40000 && world.committed < step && !IsFinished(world.job.status); ++i) {
    world.RunOnce();
  }
}

void MakeLong(SimWorld& world) {
  world.job.spec.mutable_trainer()->mutable_train()->set_steps(100'000);
}

v1alpha1::FailureRule& AddRule(SimWorld& world, const std::string& action) {
  v1alpha1::FailureRule& rule = *world.job.spec.mutable_failure_policy()->add_rules();
  rule.set_action(action);
  return rule;
}

const v1alpha1::FailureStatus& Failures(const SimWorld& world) {
  return world.job.status.failures();
}

std::string WhyFailed(const SimWorld& world) {
  const v1alpha1::Condition* failed = FindCondition(world.job.status, ConditionType::kFailed);
  return failed == nullptr ? "" : failed->message();
}

TEST(FailureScenarioTest, ExitCode1IsCountedUntilItIsOneTooMany) {
  SimWorld world(101);
  MakeLong(world);
  world.job.spec.mutable_failure_policy()->set_max_failures(3);
  for (int i = 1; i <= 4; ++i) {
    RunToStep(world, world.committed + 10);
    ASSERT_EQ(world.job.status.state(), "Training");
    world.EndRank(1, 1, "line " + std::to_string(i));
    RunFor(world, absl::Milliseconds(200));
    EXPECT_EQ(Failures(world).count(), i);
  }
  EXPECT_EQ(world.ConditionReason(ConditionType::kFailed), "True/TooManyFailures");
  EXPECT_THAT(WhyFailed(world), HasSubstr("4 failures within 1h; 3 are allowed"));
  EXPECT_THAT(Failures(world).evidence(), HasSubstr("line 1"));
  EXPECT_EQ(Failures(world).first().exit_code(), 1);
  EXPECT_EQ(Failures(world).latest().log(), "line 4");
  EXPECT_THAT(world.violations, IsEmpty());
  RunFor(world, absl::Minutes(5));
  EXPECT_EQ(world.FindAgent(0), nullptr) << "it is not tried again";
}

TEST(FailureScenarioTest, FiftyLostNodesNeverFailTheJob) {
  SimWorld world(102);
  MakeLong(world);
  world.job.spec.mutable_failure_policy()->set_max_failures(0);
  for (int i = 0; i < 50; ++i) {
    RunToStep(world, world.committed + 3);
    ASSERT_EQ(world.job.status.state(), "Training") << i << WhyFailed(world);
    world.LoseNode(i % 3);
    RunFor(world, absl::Milliseconds(100));
  }
  RunToStep(world, world.committed + 3);
  EXPECT_EQ(world.job.status.state(), "Training");
  EXPECT_EQ(Failures(world).count(), 0);
  EXPECT_EQ(Failures(world).ignored(), 50);
  EXPECT_EQ(Failures(world).latest().class_(), "Disruption");
  EXPECT_LE(Failures(world).pods_size(), 32);
  EXPECT_EQ(world.redone, 0) << "two survivors hold every step";
  EXPECT_THAT(world.violations, IsEmpty());
}

TEST(FailureScenarioTest, RefusedPodsAreReplacedAndNotCounted) {
  SimWorld world(103);
  MakeLong(world);
  world.job.spec.mutable_failure_policy()->set_max_failures(0);
  for (int i = 0; i < 5; ++i) {
    RunToStep(world, world.committed + 3);
    world.EndWorker(2, 0, "OutOfcpu");
    RunFor(world, absl::Milliseconds(100));
  }
  RunToStep(world, world.committed + 3);
  EXPECT_EQ(world.job.status.state(), "Training");
  EXPECT_EQ(Failures(world).count(), 0);
  EXPECT_EQ(Failures(world).latest().class_(), "Placement");
}

TEST(FailureScenarioTest, AnIgnoredFailureIsRepairedAndNotCounted) {
  SimWorld world(104);
  MakeLong(world);
  world.job.spec.mutable_failure_policy()->set_max_failures(1);
  v1alpha1::FailureRule& rule = AddRule(world, "Ignore");
  rule.set_name("storage");
  rule.set_log_pattern("Input/output error");
  for (int i = 0; i < 6; ++i) {
    RunToStep(world, world.committed + 5);
    world.EndRank(0, 1, "read: Input/output error");
    RunFor(world, absl::Milliseconds(200));
  }
  RunToStep(world, world.committed + 5);
  EXPECT_EQ(world.job.status.state(), "Training");
  EXPECT_EQ(Failures(world).count(), 0);
  EXPECT_EQ(Failures(world).ignored(), 6);
  EXPECT_EQ(Failures(world).latest().rule(), "storage");
  world.EndRank(0, 1, "ValueError");
  RunFor(world, absl::Milliseconds(200));
  EXPECT_EQ(Failures(world).count(), 1) << "another failure counts as ever";
}

TEST(FailureScenarioTest, AFailJobRuleEndsTheJobAtOnce) {
  SimWorld world(105);
  MakeLong(world);
  v1alpha1::FailureRule& rule = AddRule(world, "FailJob");
  rule.set_name("licence");
  rule.mutable_exit_codes()->add_values(42);
  RunToStep(world, 12);
  world.EndRank(2, 42, "no licence");
  RunFor(world, absl::Milliseconds(200));
  EXPECT_EQ(world.ConditionReason(ConditionType::kFailed), "True/FailedByRule");
  EXPECT_THAT(WhyFailed(world), HasSubstr("failurePolicy rule licence with action FailJob"));
  EXPECT_EQ(Failures(world).count(), 1);
  const int rounds = world.rounds_opened;
  RunFor(world, absl::Minutes(10));
  EXPECT_EQ(world.rounds_opened, rounds);
  EXPECT_EQ(world.FindAgent(0), nullptr);
}

TEST(FailureScenarioTest, RestartJobStartsEveryRankAnewFromTheNewestCheckpoint) {
  SimWorld world(106);
  MakeLong(world);
  v1alpha1::FailureRule& rule = AddRule(world, "RestartJob");
  rule.set_log_pattern("NCCL error");
  RunToStep(world, 37);
  const auto incarnations = world.job.status.incarnations();
  world.EndRank(1, 1, "NCCL error 5");
  RunFor(world, absl::Milliseconds(100));
  EXPECT_THAT(world.ConditionReason(ConditionType::kRunning), HasSubstr("JobRestarting"));
  RunToStep(world, 60);
  EXPECT_EQ(world.job.status.state(), "Training");
  for (int index = 0; index < 3; ++index) {
    EXPECT_EQ(world.FindAgent(index)->fresh_starts, 1) << index;
    EXPECT_EQ(world.job.status.incarnations(index), incarnations[index]) << "pods stay";
  }
  EXPECT_GE(world.redone, 7) << "from step 30, though the survivors held 37";
  EXPECT_LE(world.redone, 9);
  EXPECT_EQ(Failures(world).count(), 1);
  EXPECT_FALSE(Failures(world).restarting());
  EXPECT_THAT(world.event_reasons, Contains("JobRestarting"));
  EXPECT_THAT(world.violations, IsEmpty());
  world.EndRank(1, 1, "ValueError");
  RunToStep(world, world.committed + 10);
  EXPECT_EQ(world.FindAgent(0)->fresh_starts, 1) << "the next failure is judged by itself";
}

TEST(FailureScenarioTest, ARestartOfTheJobSurvivesALeader) {
  SimWorld world(107);
  MakeLong(world);
  AddRule(world, "RestartJob").mutable_exit_codes()->add_values(9);
  RunToStep(world, 25);
  world.EndRank(1, 9);
  while (!Failures(world).restarting()) world.RunOnce();
  world.ChangeLeader(/*zombie=*/true);
  RunToStep(world, 50);
  EXPECT_EQ(world.job.status.state(), "Training");
  EXPECT_GE(world.FindAgent(0)->fresh_starts, 1);
  EXPECT_GE(world.redone, 5);
  EXPECT_EQ(Failures(world).count(), 1);
  EXPECT_FALSE(Failures(world).restarting());
  EXPECT_THAT(world.violations, IsEmpty());
}

TEST(FailureScenarioTest, TheWindowSlides) {
  SimWorld world(108);
  MakeLong(world);
  world.job.spec.mutable_failure_policy()->set_max_failures(2);
  world.job.spec.mutable_failure_policy()->set_window("30s");
  for (int i = 0; i < 8; ++i) {
    RunToStep(world, world.committed + 2);
    world.EndRank(i % 3, 1);
    RunFor(world, absl::Seconds(20));
    ASSERT_EQ(world.job.status.state(), "Training") << i;
    EXPECT_LE(Failures(world).times_size(), 3);
  }
  EXPECT_EQ(Failures(world).count(), 8);
  for (int i = 0; i < 2; ++i) {
    world.EndRank(0, 1);
    RunFor(world, absl::Seconds(2));
  }
  EXPECT_EQ(world.ConditionReason(ConditionType::kFailed), "True/TooManyFailures");
}

TEST(FailureScenarioTest, ANewLeaderKeepsTheCount) {
  SimWorld world(109);
  MakeLong(world);
  world.job.spec.mutable_failure_policy()->set_max_failures(3);
  for (int i = 1; i <= 4; ++i) {
    RunToStep(world, world.committed + 10);
    ASSERT_EQ(world.job.status.state(), "Training") << i;
    world.EndRank(1, 1);
    while (Failures(world).count() < i) world.RunOnce();
    if (i < 4) world.ChangeLeader(/*zombie=*/i % 2 == 0);
    RunFor(world, absl::Seconds(2));
    EXPECT_EQ(Failures(world).count(), i) << "neither forgotten nor counted twice";
  }
  EXPECT_EQ(world.ConditionReason(ConditionType::kFailed), "True/TooManyFailures");
  EXPECT_THAT(world.violations, IsEmpty());
}

// The back-off of a job whose ranks die at every start continues across leaders.
TEST(FailureScenarioTest, ARankThatFailsAlikeAtEveryStartIsNotTriedAFourthTime) {
  SimWorld world(113);
  world.job.spec.mutable_failure_policy()->set_max_failures(100);
  const absl::Time start = world.now;
  while (!IsFinished(world.job.status) && world.now < start + absl::Minutes(10)) {
    world.RunOnce();
    SimAgent* agent = world.FindAgent(2);
    const bool joins = agent != nullptr && agent->phase == SimAgent::Phase::kJoining;
    if (joins) agent->KillRank(0, 1, world.now, true, "No module named 'torch'");
    if (joins && world.rounds_opened == 2) world.ChangeLeader(false);
  }
  EXPECT_EQ(world.ConditionReason(ConditionType::kFailed), "True/IdenticalFailures");
  EXPECT_THAT(WhyFailed(world), HasSubstr("it said: No module named 'torch'"));
  EXPECT_EQ(Failures(world).count(), 3);
  EXPECT_THAT(world.violations, IsEmpty());
}

TEST(FailureScenarioTest, ANewLeaderKeepsTheBackOff) {
  SimWorld world(110);
  world.job.spec.mutable_failure_policy()->set_max_failures(100);
  world.job.spec.mutable_failure_policy()->set_max_identical_failures(0);
  const absl::Time start = world.now;
  int rounds = 0;
  while (world.now < start + absl::Minutes(4)) {
    world.RunOnce();
    SimAgent* agent = world.FindAgent(2);
    const bool joins = agent != nullptr && agent->phase == SimAgent::Phase::kJoining;
    if (!joins) continue;
    agent->KillRank(0, 1, world.now, true);
    RunFor(world, absl::Milliseconds(100));
    if (++rounds % 2 == 0) world.ChangeLeader(/*zombie=*/false);
  }
  // 0 + 1 + 2 + 4 + ... + 64 seconds make eight rounds in two minutes; without a memory, hundreds.
  EXPECT_LE(world.rounds_opened, 11);
  EXPECT_GE(world.rounds_opened, 7);
  EXPECT_GE(Failures(world).streak(), 7);
}

TEST(FailureScenarioTest, ANewLeaderKnowsTheBadCheckpoint) {
  SimWorld world(111);
  MakeLong(world);
  RunToStep(world, 35);
  world.job.spec.set_suspend(true);
  RunFor(world, absl::Seconds(10));
  world.RuinNewestCheckpoint();
  world.job.spec.set_suspend(false);
  while (Failures(world).bad_checkpoints_size() == 0) world.RunOnce();
  world.ChangeLeader(/*zombie=*/false);
  RunToStep(world, 60);
  EXPECT_EQ(world.job.status.state(), "Training");
  EXPECT_EQ(std::count(world.event_reasons.begin(), world.event_reasons.end(), "JoinFailed"), 1)
      << "it is not tried again";
}

TEST(FailureScenarioTest, OutOfMemoryIsCountedAndTheWorkerReplaced) {
  SimWorld world(112);
  MakeLong(world);
  world.job.spec.mutable_failure_policy()->set_max_failures(2);
  for (int i = 1; i <= 3; ++i) {
    RunToStep(world, world.committed + 5);
    ASSERT_EQ(world.job.status.state(), "Training");
    const int incarnation = world.job.status.incarnations(1);
    world.EndWorker(1, 137, "OOMKilled");
    RunFor(world, absl::Milliseconds(200));
    EXPECT_EQ(Failures(world).count(), i);
    EXPECT_EQ(Failures(world).latest().class_(), "OutOfMemory");
    if (i < 3) {
      EXPECT_EQ(world.job.status.incarnations(1), incarnation + 1);
    }
  }
  EXPECT_EQ(world.ConditionReason(ConditionType::kFailed), "True/TooManyFailures");
}

TEST(FailureScenarioTest, AWorkerThatCannotStartIsCountedEachTimeThoughNoRoundOpens) {
  SimWorld world(113);
  world.job.spec.mutable_failure_policy()->set_max_failures(3);
  const absl::Time end = world.now + absl::Minutes(10);
  while (!IsFinished(world.job.status) && world.now < end) {
    world.RunOnce();
    world.EndWorker(0, 1, "Error");
  }
  EXPECT_EQ(world.ConditionReason(ConditionType::kFailed), "True/TooManyFailures");
  EXPECT_EQ(Failures(world).count(), 4);
  EXPECT_EQ(world.rounds_opened, 0);
}

TEST(FailureScenarioTest, SuspendKeepsTheCountsAndIsNoFailure) {
  SimWorld world(114);
  MakeLong(world);
  RunToStep(world, 15);
  world.EndRank(1, 1);
  RunToStep(world, 20);
  world.job.spec.set_suspend(true);
  RunFor(world, absl::Seconds(10));
  EXPECT_EQ(world.job.status.state(), "Suspended");
  EXPECT_EQ(world.PodsInApi(), 0);
  EXPECT_EQ(Failures(world).count(), 1);
  world.job.spec.set_suspend(false);
  RunToStep(world, 40);
  EXPECT_EQ(world.job.status.state(), "Training");
  EXPECT_EQ(Failures(world).count(), 1);
  EXPECT_EQ(Failures(world).ignored(), 0);
  EXPECT_EQ(world.redone, 0);
}

TEST(FailureScenarioTest, AJobOfAnotherControllerIsLeftAlone) {
  SimWorld world(115);
  world.job.spec.set_managed_by("example.com/controller");
  RunFor(world, absl::Minutes(5));
  world.job.job.deleting = true;
  RunFor(world, absl::Minutes(5));
  EXPECT_EQ(world.writes, 0);
  EXPECT_EQ(world.PodsInApi(), 0);
  EXPECT_THAT(world.event_reasons, IsEmpty());
  EXPECT_THAT(world.job.job.finalizers, Not(Contains("muster.dev/workers")));
}

TEST(FailureScenarioTest, AStepMakesTheBackOffForgotten) {
  SimWorld world(116);
  MakeLong(world);
  for (int i = 0; i < 5; ++i) {
    RunToStep(world, world.committed + 5);
    const absl::Time died = world.now;
    world.EndRank(0, 1);
    RunToStep(world, world.committed + 1);
    EXPECT_LT(world.now - died, absl::Seconds(3)) << i;
  }
  RunFor(world, absl::Seconds(15));
  EXPECT_EQ(Failures(world).streak(), 0);
  EXPECT_FALSE(Failures(world).has_retry_time());
}

}  // namespace
}  // namespace muster::control
