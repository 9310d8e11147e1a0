#include "operator/core/failure/fence.h"

#include <functional>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "operator/core/state/spec_values.h"
#include "operator/core/testing/command_world.h"

namespace muster::control {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

// The node of worker 1 went dark a while ago, and its pod is being deleted.
CommandWorld WorldWithALostWorker(int min) {
  CommandWorld world(2, min);
  world.MakeActive();
  world.Agent(1).attached = false;
  world.Agent(1).detached_at = world.view.now;
  world.Advance(absl::Seconds(11));
  const Plan plan = world.Decide();
  EXPECT_EQ(plan.deletes.size(), 1u);
  EXPECT_EQ(plan.deletes[0].name, "job-1-1");
  world.Pod(1).deleting = true;
  return world;
}

TEST(FenceTest, ACommandIsReplacedOnlyWhenItsPodIsGone) {
  CommandWorld world = WorldWithALostWorker(2);
  for (int i = 0; i < 3; ++i) {
    world.Advance(absl::Hours(1));
    const Plan plan = world.Decide();
    EXPECT_EQ(plan.status.incarnations(1), 1);
    EXPECT_THAT(plan.creates, IsEmpty());
  }
  EXPECT_EQ(world.Condition(ConditionType::kRunning), "False/EndUnconfirmed");
  const auto* running = FindCondition(world.view.status, ConditionType::kRunning);
  EXPECT_THAT(running->message(), HasSubstr("the command of pod job-1-1 may still run on node"));
  EXPECT_THAT(running->message(), HasSubstr("node.kubernetes.io/out-of-service"));
  world.RemovePod(1);
  EXPECT_EQ(world.Decide().status.incarnations(1), 2);
}

TEST(FenceTest, NoRoundIsOpenedBesideACommandThatMayStillRun) {
  CommandWorld world = WorldWithALostWorker(1);
  for (int i = 0; i < 10; ++i) {
    world.Advance(absl::Minutes(1));
    EXPECT_THAT(OrderTexts(world.Decide()), IsEmpty()) << "two rank 0 would write";
  }
  world.Pod(1).phase = PodPhase::kFailed;
  EXPECT_EQ(OrderTexts(world.Decide()), "Prepare:0");
}

TEST(FenceTest, AnExitOrALostNodeConfirmsTheEnd) {
  const std::function<void(PodView&)> kConfirm[] = {
      [](PodView& pod) { pod.phase = PodPhase::kFailed; },
      [](PodView& pod) { pod.exit_code = 143; },
      [](PodView& pod) { pod.node_conditions = {{"Ready", "Unknown", kNodeDeleted}}; },
      [](PodView& pod) { pod.node_taints = {{kOutOfService, "nodeshutdown", "NoExecute"}}; },
  };
  for (const auto& confirm : kConfirm) {
    CommandWorld world = WorldWithALostWorker(2);
    world.Advance(absl::Minutes(10));
    EXPECT_EQ(world.Decide().status.incarnations(1), 1);
    confirm(world.Pod(1));
    EXPECT_EQ(world.Decide().status.incarnations(1), 2);
  }
}

TEST(FenceTest, ANodeThatIsNotReadyConfirmsNothing) {
  CommandWorld world = WorldWithALostWorker(2);
  world.Pod(1).node_conditions = {{"Ready", "Unknown", "NodeStatusUnknown"}};
  world.Pod(1).node_taints = {{"node.kubernetes.io/unreachable", "", "NoExecute"}};
  world.Advance(absl::Hours(1));
  EXPECT_EQ(world.Decide().status.incarnations(1), 1);
}

TEST(FenceTest, WithAnOrphanDeadlineItsPassingConfirmsIt) {
  CommandWorld world(2, 2);
  world.view.spec.mutable_elastic()->set_orphan_deadline("2m");
  world.MakeActive();
  world.Agent(1).attached = false;
  world.Agent(1).detached_at = world.view.now;
  world.Advance(absl::Seconds(149));
  EXPECT_EQ(world.Decide().status.incarnations(1), 1);
  world.Advance(absl::Seconds(1));
  EXPECT_EQ(world.Decide().status.incarnations(1), 2) << "2m and 30s of grace";
}

TEST(FenceTest, SilenceWhileTheOperatorReadsNothingConfirmsNoEnd) {
  CommandWorld world(2, 2);
  world.view.spec.mutable_elastic()->set_orphan_deadline("2m");
  world.MakeActive();
  world.view.heard_until = world.view.now;
  world.Agent(1).attached = false;
  world.Agent(1).detached_at = world.view.now;
  world.Pod(1).deleting = true;
  world.Advance(absl::Hours(1));
  EXPECT_EQ(world.Decide().status.incarnations(1), 1);
}

TEST(FenceTest, ANewLeaderWaitsForACommandThatItHasNoContactWith) {
  CommandWorld world(2, 1);
  world.MakeActive();
  world.ChangeLeaders();
  std::erase_if(world.view.agents, [](const AgentView& agent) { return agent.index == 1; });
  for (int i = 0; i < 4; ++i) {
    world.Advance(absl::Minutes(1));
    EXPECT_THAT(OrderTexts(world.Decide()), IsEmpty()) << i;
  }
  world.RemovePod(1);
  EXPECT_EQ(world.Decide().status.incarnations(1), 2);
  world.AddPod(1);
  world.AddAgent(1);
  EXPECT_EQ(OrderTexts(world.Decide()), "Prepare:0 Prepare:1");
}

// The order is needed: left alone, the ranks would run beside the next rounds until one has this
// worker in it again.
TEST(FenceTest, ShrinkEndsTheRanksThatALeftOutWorkerStillRuns) {
  CommandWorld world(3);
  world.view.spec.mutable_failure_policy()->set_on_rank_failure("Shrink");
  world.MakeActive();
  world.Agent(1).ranks = 2;
  world.FailRank(1, 7);
  Plan plan = world.Decide();
  EXPECT_EQ(OrderTexts(plan), "Stop:1");
  EXPECT_EQ(plan.reason, "EndUnconfirmed") << "no round beside them";
  EXPECT_THAT(OrderTexts(world.Decide()), IsEmpty()) << "once";
  // The order may have been lost with a stream that has since been replaced.
  ++world.Agent(1).session;
  EXPECT_EQ(OrderTexts(world.Decide()), "Stop:1");
  world.Agent(1).finished.emplace();
  world.Agent(1).finished->round = world.memory.id;
  world.Agent(1).finished->exit_code = 7;
  world.Pod(1).phase = PodPhase::kFailed;
  world.Pod(1).exit_code = 7;
  plan = world.Decide();
  EXPECT_EQ(OrderTexts(plan), "Prepare:0 Prepare:2");
  EXPECT_EQ(plan.status.failures().count(), 1) << "its end by order is no second failure";
  EXPECT_EQ(plan.status.incarnations(1), 2);
}

TEST(FenceTest, ShrinkGoesOnAtOnceWhereTheLeftOutWorkerRunsNothing) {
  CommandWorld world(3);
  world.view.spec.mutable_failure_policy()->set_on_rank_failure("Shrink");
  world.MakeActive();
  world.FailRank(1, 7);
  EXPECT_EQ(OrderTexts(world.Decide()), "Prepare:0 Prepare:2");
}

TEST(FenceTest, ASmallerJobWaitsForThoseThatLeaveIt) {
  CommandWorld world(3);
  world.MakeActive();
  world.view.spec.mutable_workers()->set_count(2);
  Plan plan = world.Decide();
  EXPECT_THAT(OrderTexts(plan), IsEmpty());
  ASSERT_EQ(plan.deletes.size(), 1u);
  EXPECT_EQ(plan.deletes[0].name, "job-2-1");
  world.Pod(2).deleting = true;
  EXPECT_THAT(OrderTexts(world.Decide()), IsEmpty());
  world.RemovePod(2);
  EXPECT_EQ(OrderTexts(world.Decide()), "Prepare:0 Prepare:1");
}

TEST(FenceTest, TrainersAreFencedByTheirRoundsAndReplacedAtOnce) {
  TestWorld world(2);
  world.MakeActive();
  world.view.agents[1].attached = false;
  world.view.agents[1].detached_at = world.view.now;
  world.Advance(absl::Seconds(11));
  EXPECT_EQ(world.Decide().status.incarnations(1), 2);
}

TEST(OrphanDeadlineTest, ACommandHasNoneAndATrainerSixHours) {
  v1alpha1::TrainingJobSpec command;
  v1alpha1::TrainingJobSpec trainer;
  trainer.mutable_trainer();
  EXPECT_EQ(OrphanDeadline(command, std::nullopt), absl::InfiniteDuration());
  EXPECT_EQ(OrphanDeadline(trainer, std::nullopt), absl::Hours(6));
  EXPECT_EQ(OrphanDeadline(command, absl::Seconds(60)), absl::Seconds(60)) << "on one machine";
  command.mutable_elastic()->set_orphan_deadline("5m");
  EXPECT_EQ(OrphanDeadline(command, absl::Seconds(60)), absl::Minutes(5));
}

}  // namespace
}  // namespace muster::control
