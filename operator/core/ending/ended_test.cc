#include "operator/core/ending/ended.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "operator/core/testing/command_world.h"

namespace muster::control {
namespace {

using ::testing::IsEmpty;

void EndPod(PodView& pod) {
  pod.phase = PodPhase::kSucceeded;
  pod.exit_code = 0;
}

TEST(EndedTest, AWorkerThatEndedIsNotRunAgainWhenItsPodIsGone) {
  CommandWorld world(2);
  world.MakeActive();
  world.EndCommand(0);
  EXPECT_EQ(world.Decide().status.workers().ended(), "0");
  world.RemovePod(0);
  for (int i = 0; i < 3; ++i) {
    const Plan plan = world.Decide();
    EXPECT_EQ(plan.status.incarnations(0), 1);
    EXPECT_THAT(plan.creates, IsEmpty());
    EXPECT_THAT(OrderTexts(plan), IsEmpty()) << "the other one runs on";
    world.Advance(absl::Minutes(5));
  }
  EXPECT_EQ(world.view.status.state(), "Training");
  world.EndCommand(1);
  world.Decide();
  EXPECT_EQ(world.Condition(ConditionType::kSucceeded), "True/TrainingFinished");
}

// The container `worker` has ended, and another one of the template keeps the pod running.
TEST(EndedTest, OtherContainersOfThePodEndWithTheJob) {
  CommandWorld world(2);
  world.MakeActive();
  world.EndCommand(0);
  world.Pod(0).exit_code = 0;
  world.Pod(0).others_left = true;
  EXPECT_THAT(world.Decide().deletes, IsEmpty()) << "the other worker runs on";
  world.EndCommand(1);
  EndPod(world.Pod(1));
  const Plan plan = world.Decide();
  EXPECT_EQ(world.Condition(ConditionType::kSucceeded), "True/TrainingFinished");
  ASSERT_EQ(plan.deletes.size(), 1u) << "the other pod is over by itself, and its log is kept";
  EXPECT_EQ(plan.deletes[0].name, world.Pod(0).name);
}

// A kubelet tells the end of the only container, and a second later that of the pod.
TEST(EndedTest, APodWhoseOnlyContainerHasEndedIsKeptWithItsLog) {
  CommandWorld world(1);
  world.MakeActive();
  world.EndCommand(0);
  world.Pod(0).exit_code = 0;
  EXPECT_THAT(world.Decide().deletes, IsEmpty());
  EXPECT_EQ(world.Condition(ConditionType::kSucceeded), "True/TrainingFinished");
  world.Advance(absl::Hours(1));
  EXPECT_THAT(world.Decide().deletes, IsEmpty());
  EndPod(world.Pod(0));
  EXPECT_THAT(world.Decide().deletes, IsEmpty());
}

TEST(EndedTest, AWorkerThatFailedIsReplacedAlthoughOtherContainersOfItsPodRun) {
  CommandWorld world(2);
  world.MakeActive();
  world.Pod(1).exit_code = 137;
  world.Pod(1).reason = "OOMKilled";
  world.Pod(1).ended = {{"worker", 137, 9, "OOMKilled"}};
  world.Agent(1).attached = false;
  world.Agent(1).detached_at = world.view.now;
  const Plan plan = world.Decide();
  EXPECT_EQ(plan.status.incarnations(1), 2);
  EXPECT_EQ(plan.status.failures().latest().reason(), "OOMKilled");
}

TEST(EndedTest, ACommandThatEndedWhileNobodyLedIsNotRunAgain) {
  CommandWorld world(2);
  world.MakeActive();
  world.ChangeLeaders();
  world.view.agents.clear();
  for (PodView& pod : world.view.pods) EndPod(pod);
  const Plan plan = world.Decide();
  EXPECT_EQ(plan.status.workers().ended(), "0-1");
  EXPECT_EQ(plan.status.incarnations(0), 1);
  EXPECT_EQ(world.Condition(ConditionType::kSucceeded), "True/TrainingFinished");
}

TEST(EndedTest, TheRoundOfTheWorkersThatStillRunIsAdopted) {
  for (const bool pod_is_there : {true, false}) {
    CommandWorld world(3, 3);
    world.MakeActive();
    if (pod_is_there) {
      EndPod(world.Pod(1));
      std::erase_if(world.view.agents, [](const AgentView& agent) { return agent.index == 1; });
    } else {
      world.EndCommand(1);
      world.Decide();
      world.RemovePod(1);
    }
    for (AgentView& agent : world.view.agents) agent.active = world.memory.id;
    world.ChangeLeaders();
    const Plan plan = world.Decide();
    EXPECT_EQ(world.memory.phase, RoundPhase::kActive) << pod_is_there;
    EXPECT_EQ(plan.status.workers().ended(), "1");
    EXPECT_THAT(OrderTexts(plan), IsEmpty()) << "no command is started again";
    EXPECT_EQ(world.Condition(ConditionType::kRunning), "True/RoundAdopted");
    world.EndCommand(0);
    world.EndCommand(2);
    world.Decide();
    EXPECT_EQ(world.Condition(ConditionType::kSucceeded), "True/TrainingFinished");
  }
}

TEST(EndedTest, WorkersThatEndedAreNotMoreThanTheCount) {
  CommandWorld world(3);
  world.MakeActive();
  world.EndCommand(0);
  world.EndCommand(2);
  EXPECT_EQ(FindCondition(world.Decide().status, ConditionType::kDegraded)->message(),
            "1 of 1 worker is training");
}

TEST(EndedTest, TheNextRoundGoesWithoutWorkersThatEnded) {
  CommandWorld world(3, 3);
  world.MakeActive();
  world.EndCommand(0);
  world.Decide();
  world.FailRank(2, 1, "no such file");
  EXPECT_EQ(OrderTexts(world.Decide()), "Prepare:1 Prepare:2");
  world.JoinAll();
  EXPECT_EQ(world.Condition(ConditionType::kDegraded), "False/AllWorkers");
  world.EndCommand(1);
  world.EndCommand(2);
  world.Decide();
  EXPECT_EQ(world.Condition(ConditionType::kSucceeded), "True/TrainingFinished");
}

// The report of the end and the Prepare order crossed.
TEST(EndedTest, ACommandThatEndedBeforeItPreparedIsLeftOut) {
  CommandWorld world(2);
  world.MakeActive();
  const RoundStamp round = world.memory.id;
  world.FailRank(1, 1);
  EXPECT_EQ(OrderTexts(world.Decide()), "Prepare:0 Prepare:1");
  world.EndCommand(0);
  world.Agent(0).finished->round = round;
  EXPECT_EQ(OrderTexts(world.Decide()), "Prepare:1");
  EXPECT_EQ(world.view.status.workers().ended(), "0");
}

TEST(EndedTest, AWorkerThatWasToldToStopHasNotEnded) {
  CommandWorld world(2);
  world.MakeActive();
  world.view.spec.set_suspend(true);
  EXPECT_EQ(OrderTexts(world.Decide()), "Stop:0 Stop:1");
  for (const int index : {0, 1}) {
    world.EndCommand(index);
    EndPod(world.Pod(index));
  }
  // No worker has ended, neither for the leader that suspends the job nor for one that takes over
  // then.
  for (const bool wanted : {true, true, false}) {
    world.view.spec.set_suspend(wanted);
    const Plan plan = world.Decide();
    EXPECT_EQ(plan.status.workers().ended(), "");
    EXPECT_NE(plan.status.state(), "Succeeded");
    world.ChangeLeaders();
  }
  world.RemovePod(0);
  world.RemovePod(1);
  world.Decide();
  world.Decide();
  EXPECT_EQ(world.Condition(ConditionType::kSuspended), "False/Resumed");
  EXPECT_EQ(world.view.status.incarnations(0), 2) << "it goes on";
}

// The leader that told it to stop is gone before it sees how the worker ends.
TEST(EndedTest, AWorkerThatAnEarlierLeaderToldToStopHasNotEnded) {
  CommandWorld world(3);
  world.view.spec.mutable_failure_policy()->set_on_rank_failure("Shrink");
  world.MakeActive();
  for (AgentView& agent : world.view.agents) agent.ranks = 2;
  world.FailRank(2, 1, "the first of two ranks");
  EXPECT_EQ(OrderTexts(world.Decide()), "Stop:2");
  EXPECT_EQ(world.view.status.workers().told_to_stop(), "2");
  world.EndCommand(2);
  EndPod(world.Pod(2));
  world.ChangeLeaders();
  const Plan plan = world.Decide();
  EXPECT_EQ(plan.status.workers().ended(), "") << "its work is not done";
  EXPECT_EQ(plan.status.incarnations(2), 2) << "it is replaced";
  EXPECT_EQ(plan.status.workers().told_to_stop(), "") << "the replacement was told nothing";
}

TEST(EndedTest, UnderSuccessPolicyLeaderOnlyWorker0MustEnd) {
  CommandWorld world(2);
  world.view.spec.set_success_policy("Leader");
  world.MakeActive();
  world.EndCommand(1);
  world.Decide();
  EXPECT_EQ(world.Condition(ConditionType::kSucceeded), "");
  world.ChangeLeaders();
  EndPod(world.Pod(0));
  world.Decide();
  EXPECT_EQ(world.Condition(ConditionType::kSucceeded), "True/TrainingFinished");
}

TEST(EndedTest, ATrainersExitDoesNotRecordItsWorkerAsEnded) {
  TestWorld world(1);
  world.MakeActive();
  EndPod(world.view.pods[0]);
  const Plan plan = world.Decide();
  EXPECT_EQ(plan.status.workers().ended(), "");
  EXPECT_EQ(plan.status.incarnations(0), 2);
}

}  // namespace
}  // namespace muster::control
