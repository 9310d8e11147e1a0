// Tests how a job obeys its queue's orders.
#include <optional>
#include <string>
#include <variant>

#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "operator/core/state/conditions.h"
#include "operator/core/testing/sim_world.h"
#include "operator/core/testing/test_world.h"

namespace muster::control {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

QueueOrder Order(const TestWorld& world, int workers, const std::string& reason = "Reclaimed") {
  return {workers, reason, "stops for team/large", world.view.wall};
}

// Every worker reports that it saved and stopped.
void FinishAll(TestWorld& world) {
  for (AgentView& agent : world.view.agents) {
    agent.finished = FinishedReport{world.memory.id, true, 0, "", {}};
    agent.finished->version.set_step(7);
  }
}

TEST(PreemptionTest, TheOrderIsWrittenBeforeAnythingIsDone) {
  TestWorld world(2);
  world.MakeActive();
  world.view.placement.order = Order(world, 0);
  Plan plan = world.Decide();
  EXPECT_TRUE(plan.write_status);
  EXPECT_THAT(plan.orders, IsEmpty());
  EXPECT_THAT(plan.deletes, IsEmpty());
  EXPECT_EQ(plan.status.preemption().workers(), 0);
  EXPECT_EQ(plan.status.preemption().reason(), "Reclaimed");
  plan = world.Decide();
  EXPECT_EQ(OrderTexts(plan), "Stop:0 Stop:1");
  EXPECT_TRUE(std::get<StopOrder>(plan.orders[0].what).save);
  EXPECT_EQ(world.Condition(ConditionType::kPreempted), "True/Reclaimed");
}

TEST(PreemptionTest, AStoppedJobWaitsWithNewPodsAndCountsNoFailure) {
  TestWorld world(2);
  world.MakeActive();
  world.view.placement.order = Order(world, 0, "Priority");
  world.Decide();
  world.Decide();
  FinishAll(world);
  Plan plan = world.Decide();
  EXPECT_THAT(plan.deletes, SizeIs(2));
  world.view.pods.clear();
  world.view.agents.clear();
  plan = world.Decide();
  EXPECT_FALSE(plan.status.preemption().has_workers());
  EXPECT_EQ(plan.status.preemption().count(), 1);
  plan = world.Decide();
  EXPECT_THAT(plan.creates, SizeIs(2));
  EXPECT_EQ(plan.creates[0].incarnation, 2);
  EXPECT_EQ(world.view.status.state(), "Queued");
  EXPECT_EQ(world.view.status.failures().count(), 0);
  EXPECT_EQ(world.Condition(ConditionType::kPreempted), "True/Priority");
  // The scheduler still shows the order, which has been carried out.
  plan = world.Decide();
  EXPECT_FALSE(plan.status.preemption().has_workers());
}

// The pod's node may be dead: after the deadline, only the end of the pod makes a difference.
TEST(PreemptionTest, APodThatStaysDoesNotKeepTheOperatorBusy) {
  TestWorld world(1);
  world.MakeActive();
  world.view.placement.order = Order(world, 0);
  world.Decide();
  EXPECT_EQ(world.Decide().requeue_after, DecideOptions{}.stop_deadline);
  world.Advance(DecideOptions{}.stop_deadline);
  EXPECT_THAT(world.Decide().deletes, SizeIs(1));
  world.view.pods[0].deleting = true;
  EXPECT_EQ(world.Decide().requeue_after, DecideOptions{}.status_write_delay)
      << "that it goes is told";
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(world.Decide().requeue_after, std::nullopt);
    world.Advance(absl::Minutes(1));
  }
}

// The workers answer no Prepare, so that only the time shows that no round will be formed.
TEST(PreemptionTest, WorkersOfARoundThatDoesNotFormAreToldToSaveBeforeTheirPodsAreDeleted) {
  TestWorld world(2);
  world.MakeActive();
  world.view.placement.order = Order(world, 0);
  world.memory.phase = RoundPhase::kHolding;
  world.Decide();
  EXPECT_EQ(OrderTexts(world.Decide()), "Prepare:0 Prepare:1");
  world.Advance(DecideOptions{}.stop_deadline);
  Plan plan = world.Decide();
  EXPECT_EQ(OrderTexts(plan), "Stop:0 Stop:1");
  EXPECT_THAT(plan.deletes, IsEmpty());
  world.Advance(DecideOptions{}.stop_deadline);
  EXPECT_THAT(world.Decide().deletes, SizeIs(2));
}

TEST(PreemptionTest, TheConditionShowsThatTheJobRunsAgain) {
  TestWorld world(1);
  SetCondition(world.view.status, ConditionType::kPreempted, true, Reason::kReclaimed, "",
               world.view.wall, 1);
  world.view.status.mutable_preemption()->set_count(1);
  world.MakeActive();
  world.Decide();
  EXPECT_EQ(world.Condition(ConditionType::kPreempted), "False/RunsAgain");
}

TEST(PreemptionTest, ANewLeaderGoesOnWithAStopThatWasWritten) {
  TestWorld world(2);
  world.MakeActive();
  world.view.placement.order = Order(world, 0);
  world.Decide();
  world.memory = RoundMemory{};
  world.view.placement.order.reset();
  world.view.leader_term = 2;
  for (AgentView& agent : world.view.agents) agent.active = agent.seen = {1, 1};
  Plan plan = world.Decide();
  for (int i = 0; i < 3 && OrderTexts(plan).empty(); ++i) plan = world.Decide();
  EXPECT_EQ(OrderTexts(plan), "Stop:0 Stop:1");
}

TEST(PreemptionTest, AShrunkJobOpensASmallerRoundAndGrowsWhenItMay) {
  TestWorld world(3);
  world.MakeActive();
  world.view.placement.order = Order(world, 2);
  Plan plan = world.Decide();
  EXPECT_EQ(plan.status.preemption().workers(), 2);
  EXPECT_EQ(plan.status.workers().desired(), 2);
  EXPECT_THAT(plan.deletes, IsEmpty()) << "the smaller round comes first";
  EXPECT_EQ(OrderTexts(plan), "Prepare:0 Prepare:1");
  for (int i = 0; i < 2; ++i) {
    AgentView& agent = world.view.agents[i];
    agent.seen = world.memory.id;
    agent.ready = ReadyReport{world.memory.id, std::vector<v1alpha1::RankReady>(1)};
  }
  world.Decide();
  for (int i = 0; i < 2; ++i) world.view.agents[i].joined = Joined(world.memory);
  world.Decide();
  plan = world.Decide();
  EXPECT_EQ(world.Condition(ConditionType::kDegraded), "True/GaveUpWorkers");
  ASSERT_THAT(plan.deletes, SizeIs(1));
  EXPECT_EQ(plan.deletes[0].name, "job-2-1");
  world.view.pods.pop_back();
  world.view.agents.pop_back();
  world.Advance(absl::Seconds(10));
  EXPECT_THAT(world.Decide().creates, IsEmpty());
  world.Advance(absl::Seconds(10));
  world.view.placement.order = Order(world, 3, "RoomAgain");
  world.Decide();
  plan = world.Decide();
  EXPECT_FALSE(world.view.status.preemption().has_workers());
  EXPECT_THAT(plan.creates, SizeIs(1));
}

TEST(PreemptionTest, ASuspendedJobHasNothingToGiveUp) {
  TestWorld world(1);
  world.MakeActive();
  world.view.spec.set_suspend(true);
  world.view.placement.order = Order(world, 0);
  world.Decide();
  EXPECT_FALSE(world.view.status.preemption().has_workers());
  EXPECT_EQ(world.Condition(ConditionType::kSuspended), "False/SuspendRequested");
}

// Stops a whole job again and again, with changes of leader in between. It still trains all its
// steps, each once.
TEST(PreemptionScenario, AJobThatIsStoppedForOthersLosesNoStep) {
  for (int seed = 0; seed < 40; ++seed) {
    SimWorld world(seed);
    int stops = 0;
    for (int tick = 0; tick < 20000 && !IsFinished(world.job.status); ++tick) {
      if (stops < 3 && world.committed > 10 * (stops + 1)) {
        world.job.placement.order = QueueOrder{0, "Reclaimed", "stops for team/large",
                                               absl::FromUnixSeconds(2'000'000'000 + stops)};
        ++stops;
      }
      if (world.job.status.preemption().has_workers() && world.Pick(40)) world.ChangeLeader(false);
      world.RunOnce();
    }
    EXPECT_EQ(world.job.status.state(), "Succeeded") << seed;
    EXPECT_EQ(world.redone, 0) << seed;
    EXPECT_EQ(world.job.status.preemption().count(), 3) << seed;
    EXPECT_EQ(world.job.status.failures().count(), 0) << seed;
    EXPECT_THAT(world.violations, IsEmpty()) << seed;
  }
}

}  // namespace
}  // namespace muster::control
