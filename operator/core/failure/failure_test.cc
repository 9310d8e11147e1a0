#include "operator/core/failure/failure.h"

#include <algorithm>
#include <string>
#include <variant>

#include "absl/time/time.h"
#include "base/exit_codes.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "operator/core/state/conditions.h"
#include "operator/core/state/failure_policy.h"
#include "operator/core/state/plan.h"
#include "operator/core/state/round_memory.h"
#include "operator/core/state/view.h"
#include "operator/core/testing/test_world.h"

namespace muster::control {
namespace {

using ::testing::EndsWith;
using ::testing::SizeIs;

ExitReport Exit(const TestWorld& world, int code) {
  ExitReport exit;
  exit.round = world.memory.id;
  exit.exit_code = code;
  exit.signal = code > 128 ? code - 128 : 0;
  exit.restarted = true;
  exit.reason = "Exited";
  exit.log_tail = "Traceback";
  return exit;
}

TEST(FailureTest, ManyExitsOfOneRoundAreOneFailure) {
  TestWorld world(2);
  world.MakeActive();
  world.view.agents[0].exits.push_back(Exit(world, 1));
  world.view.agents[1].exits.push_back(Exit(world, 1));
  const Plan plan = world.Decide();
  EXPECT_EQ(plan.status.failures().count(), 1);
  EXPECT_THAT(plan.status.failures().times(), SizeIs(1));
  EXPECT_EQ(plan.status.failures().evidence(),
            "rank 0 of worker 0 ended with exit code 1 (Exited)\nTraceback");
  EXPECT_EQ(world.Decide().status.failures().count(), 1) << "shown again it counts no more";
}

TEST(FailureTest, EvidenceKeepsTheEndOfTheLog) {
  TestWorld world(1);
  world.MakeActive();
  world.view.agents[0].exits.push_back(Exit(world, 1));
  world.view.agents[0].exits[0].log_tail = std::string(20'000, 'x') + "the end";
  const std::string evidence = world.Decide().status.failures().evidence();
  EXPECT_EQ(evidence.size(), 8u << 10);
  EXPECT_THAT(evidence, testing::EndsWith("the end"));
}

TEST(FailureTest, OnlyTheWindowCounts) {
  TestWorld world(1);
  world.view.spec.mutable_failure_policy()->set_max_failures(1);
  world.view.spec.mutable_failure_policy()->set_window("10m");
  world.MakeActive();
  world.view.status.mutable_failures()->set_count(1);
  world.view.status.mutable_failures()->add_times("2023-11-14T22:00:00.000Z");  // 13 min ago
  world.view.agents[0].exits.push_back(Exit(world, 1));
  Plan plan = world.Decide();
  EXPECT_EQ(plan.status.failures().count(), 2);
  EXPECT_THAT(plan.status.failures().times(), SizeIs(1));
  EXPECT_EQ(world.Condition(ConditionType::kFailed), "");
}

TEST(FailureTest, OneTooManyEndsTheJobAndStopsItsWorkers) {
  TestWorld world(2);
  world.view.spec.mutable_failure_policy()->set_max_failures(0);
  world.MakeActive();
  world.view.agents[1].exits.push_back(Exit(world, 137));
  const Plan plan = world.Decide();
  EXPECT_EQ(world.Condition(ConditionType::kFailed), "True/TooManyFailures");
  EXPECT_EQ(OrderTexts(plan), "Stop:0 Stop:1");
  EXPECT_EQ(plan.status.state(), "Failed");
  EXPECT_TRUE(plan.status.has_completion_time());
}

TEST(FailureTest, BadInputOfTheTrainerIsFinalAndOfACommandIsNot) {
  for (bool built_in : {true, false}) {
    TestWorld world(1);
    if (!built_in) world.view.spec.clear_trainer();
    world.MakeActive();
    world.view.agents[0].exits.push_back(Exit(world, kExitBadInput));
    world.Decide();
    EXPECT_EQ(world.Condition(ConditionType::kFailed), built_in ? "True/BadInput" : "");
    EXPECT_EQ(world.view.status.failures().count(), 1);
  }
}

TEST(FailureTest, BadInputIsReportedInTheTrainersOwnWords) {
  TestWorld world(1);
  world.MakeActive();
  ExitReport exit = Exit(world, kExitBadInput);
  exit.log_tail = "loading\nmuster-trainer: the corpus is empty\n\n";
  world.view.agents[0].exits.push_back(exit);
  const Plan plan = world.Decide();
  const auto& conditions = plan.status.conditions();
  const auto failed = std::find_if(conditions.begin(), conditions.end(),
                                   [](const auto& c) { return c.type() == "Failed"; });
  ASSERT_NE(failed, conditions.end());
  EXPECT_EQ(
      failed->message(),
      "rank 0 of worker 0 ended with exit code 2 (Exited); trying again cannot help; it said: "
      "muster-trainer: the corpus is empty");
}

TEST(FailureTest, APodCountsUnlessItWasDisruptedOrRefused) {
  const auto count = [](int code, const std::string& reason) {
    TestWorld world(1);
    PodView& pod = world.AddPod(0, PodPhase::kFailed);
    pod.ended = {{"worker", code, 0, reason}};
    pod.reason = reason;
    return world.Decide().status.failures().count();
  };
  EXPECT_EQ(count(kExitFailed, "Error"), 1);
  EXPECT_EQ(count(137, "OOMKilled"), 1);
  EXPECT_EQ(count(137, "NodeLost"), 0);
  EXPECT_EQ(count(143, "Evicted"), 0);
  EXPECT_EQ(count(kExitRefused, "Error"), 0);
  EXPECT_EQ(count(kExitOrphaned, "Error"), 0);
}

v1alpha1::FailureRule& AddRule(TestWorld& world, const std::string& action, int code) {
  v1alpha1::FailureRule& rule = *world.view.spec.mutable_failure_policy()->add_rules();
  rule.set_action(action);
  if (code > 0) rule.mutable_exit_codes()->add_values(code);
  return rule;
}

TEST(FailureTest, TheRecordNamesTheWorkerTheExitAndTheAction) {
  TestWorld world(2);
  world.MakeActive();
  AddRule(world, "Ignore", 7).set_name("seven");
  world.view.agents[1].exits.push_back(Exit(world, 7));
  world.view.agents[1].exits[0].rank = 1;
  Plan plan = world.Decide();
  const v1alpha1::FailureRecord& latest = plan.status.failures().latest();
  EXPECT_EQ(latest.worker(), 1);
  EXPECT_EQ(latest.rank(), 1);
  EXPECT_EQ(latest.pod(), "job-1-1");
  EXPECT_EQ(latest.node(), "node");
  EXPECT_EQ(latest.exit_code(), 7);
  EXPECT_EQ(latest.reason(), "Exited");
  EXPECT_EQ(latest.class_(), "ProgramFailed");
  EXPECT_EQ(latest.rule(), "seven");
  EXPECT_EQ(latest.action(), "Ignore");
  EXPECT_EQ(latest.round(), 1);
  EXPECT_EQ(latest.log(), "Traceback");
  EXPECT_EQ(plan.status.failures().count(), 0);
  EXPECT_EQ(plan.status.failures().ignored(), 1);
  EXPECT_FALSE(plan.status.failures().has_first()) << "the first that counts";
  ASSERT_THAT(plan.failures, SizeIs(1));
  EXPECT_EQ(plan.failures[0].action, FailureAction::kIgnore);
  EXPECT_THAT(world.Decide().failures, SizeIs(0)) << "judged once";
}

TEST(FailureTest, TheStatusStaysSmall) {
  TestWorld world(1);
  world.MakeActive();
  world.view.agents[0].exits.push_back(Exit(world, 1));
  world.view.agents[0].exits[0].log_tail = std::string(20'000, 'x');
  world.view.agents[0].exits[0].reason = std::string(20'000, 'x');
  EXPECT_LT(world.Decide().status.failures().ByteSizeLong(), 12u << 10);
}

TEST(FailureTest, FailJobEndsTheJobThoughAnotherFailureOfTheRoundWasCounted) {
  TestWorld world(2);
  world.MakeActive();
  AddRule(world, "FailJob", 42);
  world.view.agents[0].exits.push_back(Exit(world, 1));
  world.Decide();
  EXPECT_EQ(world.Condition(ConditionType::kFailed), "");
  world.view.agents[1].exits.push_back(Exit(world, 42));
  world.Decide();
  EXPECT_EQ(world.Condition(ConditionType::kFailed), "True/FailedByRule");
  EXPECT_THAT(FindCondition(world.view.status, ConditionType::kFailed)->message(),
              testing::HasSubstr("failurePolicy rule rules[0] with action FailJob"));
}

TEST(FailureTest, AFailJobRuleForMemoryAppliesThoughARankWasCountedFirst) {
  TestWorld world(1);
  world.MakeActive();
  AddRule(world, "FailJob", 0).add_reasons("OOMKilled");
  world.view.agents[0].exits.push_back(Exit(world, 137));
  world.Decide();
  EXPECT_EQ(world.view.status.failures().count(), 1);
  world.view.pods[0].phase = PodPhase::kFailed;
  world.view.pods[0].ended = {{"worker", 137, 0, "OOMKilled"}};
  world.Decide();
  EXPECT_EQ(world.Condition(ConditionType::kFailed), "True/FailedByRule");
}

TEST(FailureTest, ADisruptedPodIsEvaluatedWhileItIsStillBeingDeleted) {
  for (bool disrupted : {false, true}) {
    TestWorld world(1);
    world.MakeActive();
    world.view.pods[0].deleting = true;
    if (disrupted) {
      world.view.pods[0].conditions = {{"DisruptionTarget", "True", "EvictionByEvictionAPI"}};
    }
    const Plan plan = world.Decide();
    EXPECT_EQ(plan.status.failures().count(), 0);
    EXPECT_EQ(plan.status.failures().ignored(), disrupted ? 1 : 0)
        << "whoever deleted it, meant it";
    EXPECT_EQ(plan.status.failures().latest().class_(), disrupted ? "Disruption" : "");
  }
}

TEST(FailureTest, PodsOfOneRoundAreOneFailure) {
  TestWorld world(3);
  world.MakeActive();
  for (PodView& pod : world.view.pods) {
    pod.phase = PodPhase::kFailed;
    pod.ended = {{"worker", 137, 0, "OOMKilled"}};
  }
  EXPECT_EQ(world.Decide().status.failures().count(), 1);
}

TEST(FailureTest, AContainerThatItsProbeEndedIsCountedAndTheJobSaysWhy) {
  for (const bool probed : {false, true}) {
    TestWorld world(1);
    world.view.spec.mutable_failure_policy()->set_max_failures(0);
    world.MakeActive();
    PodView& pod = world.view.pods[0];
    pod.phase = PodPhase::kFailed;
    pod.reason = "Error";
    world.view.probed = probed;
    pod.ended = {{"worker", 143, 0, "Error"}};
    world.Decide();
    const auto* failed = FindCondition(world.view.status, ConditionType::kFailed);
    ASSERT_EQ(failed != nullptr, probed);
    if (!probed) continue;
    EXPECT_EQ(failed->reason(), "TooManyFailures");
    EXPECT_THAT(failed->message(),
                EndsWith("pod job-0-1 ended with exit code 143 (Error), as if its livenessProbe or "
                         "startupProbe had failed"));
  }
}

TEST(FailureTest, ANewLeaderCountsNothingTwice) {
  TestWorld world(2);
  world.MakeActive();
  world.view.agents[0].exits.push_back(Exit(world, 1));
  world.Decide();
  PodView& pod = world.view.pods[1];
  pod.phase = PodPhase::kFailed;
  pod.ended = {{"worker", 1, 0, "Error"}};
  world.Decide();
  const int count = world.view.status.failures().count();
  world.memory = RoundMemory{};
  ++world.view.leader_term;
  world.Decide();
  EXPECT_EQ(world.view.status.failures().count(), count);
  EXPECT_EQ(world.memory.failure.evaluated_round, world.view.status.failures().round());
}

TEST(FailureTest, ANewLeaderKeepsTheBackOffAndTheBadCheckpoints) {
  TestWorld world(1);
  v1alpha1::FailureStatus& kept = *world.view.status.mutable_failures();
  kept.set_streak(4);
  kept.set_retry_time(FormatWall(world.view.wall + absl::Seconds(8)));
  kept.add_bad_checkpoints("step-000000100");
  kept.set_restarting(true);
  world.AddWorkers();
  Plan plan = world.Decide();
  EXPECT_EQ(plan.reason, "BackingOff");
  EXPECT_EQ(world.memory.backoff.streak, 4);
  EXPECT_EQ(world.memory.backoff.not_before, world.view.now + absl::Seconds(8));
  EXPECT_EQ(world.memory.failure.bad_checkpoints.count("step-000000100"), 1u);
  EXPECT_TRUE(plan.status.failures().restarting());
  EXPECT_EQ(plan.status.failures().streak(), 4);
  world.Advance(absl::Seconds(9));
  plan = world.Decide();
  ASSERT_EQ(OrderTexts(plan), "Prepare:0");
  EXPECT_TRUE(std::get<PrepareOrder>(plan.orders[0].what).fresh);
}

TEST(FailureTest, AWallClockThatWasSetBackDoesNotProlongTheWait) {
  TestWorld world(1);
  world.view.status.mutable_failures()->set_streak(4);
  world.view.status.mutable_failures()->set_retry_time(
      FormatWall(world.view.wall + absl::Hours(24)));
  world.Decide();
  EXPECT_LE(world.memory.backoff.not_before, world.view.now + absl::Minutes(2));
}

TEST(FailureTest, AJobThatAnotherControllerManagesIsNotTouched) {
  TestWorld world(2);
  world.view.spec.set_managed_by("example.com/controller");
  for (bool deleting : {false, true}) {
    world.view.job.deleting = deleting;
    const Plan plan = world.Decide();
    EXPECT_FALSE(plan.write_status);
    EXPECT_THAT(plan.creates, SizeIs(0));
    EXPECT_THAT(plan.deletes, SizeIs(0));
    EXPECT_THAT(plan.orders, SizeIs(0));
    EXPECT_THAT(plan.events, SizeIs(0));
    EXPECT_THAT(plan.add_finalizers, SizeIs(0));
    EXPECT_THAT(plan.remove_finalizers, SizeIs(0));
    EXPECT_EQ(plan.reason, "ManagedByAnother");
  }
  world.view.job.deleting = false;
  world.view.spec.set_managed_by("muster.dev/operator");
  EXPECT_TRUE(world.Decide().write_status);
}

FinishedReport Finished(const TestWorld& world, int code) {
  FinishedReport report;
  report.round = world.memory.id;
  report.succeeded = code == 0;
  report.exit_code = code;
  return report;
}

// The message stood in the sentence and, as the end of the log, behind it.
TEST(FailureTest, WhatAWorkerSaidAtItsEndIsToldOnce) {
  TestWorld world(2);
  world.MakeActive();
  world.view.agents[1].finished = Finished(world, kExitBadInput);
  world.view.agents[1].finished->message = "n_special is not known here";
  const Plan plan = world.Decide();
  EXPECT_EQ(FindCondition(plan.status, ConditionType::kFailed)->message(),
            "worker 1 ended with exit code 2; trying again cannot help; it said: n_special is not "
            "known here");
  EXPECT_EQ(plan.status.failures().evidence(),
            "worker 1 ended with exit code 2\nn_special is not known here");
}

TEST(FailureTest, ATrainerThatSkippedTooManyStepsFailsTheJobWithTheStepAndItsNumbers) {
  TestWorld world(2);
  world.MakeActive();
  v1alpha1::StepReport report;
  report.mutable_version()->set_step(27);
  report.set_skipped_total(11);
  world.view.progress.latest = report;
  world.view.agents[1].finished = Finished(world, kExitDiverged);
  world.view.agents[1].finished->message =
      "11 steps in a row up to step 27 were skipped, the last one with loss nan and gradient norm "
      "inf: train.skippedSteps.maxInRow allows 10";
  world.Decide();
  EXPECT_EQ(world.Condition(ConditionType::kFailed), "True/TooManySkippedSteps");
  EXPECT_EQ(FindCondition(world.view.status, ConditionType::kFailed)->message(),
            world.view.agents[1].finished->message);
  EXPECT_EQ(world.view.status.failures().latest().class_(), "Diverged");
  EXPECT_EQ(world.view.status.progress().skipped_steps(), 11);
  EXPECT_EQ(world.view.status.progress().step(), 27);
}

TEST(FailureTest, TheSuccessPolicyDecidesWhichWorkersMustComeToTheEnd) {
  for (bool leader : {false, true}) {
    for (int who : {0, 1}) {
      TestWorld world(2);
      world.view.spec.clear_trainer();
      world.view.spec.set_success_policy(leader ? "Leader" : "All");
      world.MakeActive();
      world.view.agents[who].finished = Finished(world, 0);
      const Plan plan = world.Decide();
      const bool ends = leader && who == 0;
      EXPECT_EQ(world.Condition(ConditionType::kSucceeded), ends ? "True/TrainingFinished" : "");
      EXPECT_EQ(OrderTexts(plan), ends ? "Stop:0 Stop:1" : "") << "the others are stopped";
    }
  }
}

TEST(FailureTest, AFailureAfterTheLeaderCameToItsEndDoesNotMatter) {
  TestWorld world(2);
  world.view.spec.clear_trainer();
  world.view.spec.set_success_policy("Leader");
  world.view.spec.mutable_failure_policy()->set_max_failures(0);
  world.MakeActive();
  world.view.agents[0].finished = Finished(world, 0);
  world.view.agents[1].exits.push_back(Exit(world, 1));
  world.Decide();
  EXPECT_EQ(world.Condition(ConditionType::kSucceeded), "True/TrainingFinished");
  EXPECT_EQ(world.view.status.failures().count(), 0);
}

TEST(FailureTest, ARefusedProgramIsNoFailure) {
  TestWorld world(1);
  world.MakeActive();
  world.view.agents[0].exits.push_back(Exit(world, kExitRefused));
  EXPECT_EQ(world.Decide().status.failures().count(), 0);
}

}  // namespace
}  // namespace muster::control
