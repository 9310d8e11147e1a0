#include "operator/core/status_write_policy.h"

#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "operator/core/decide.h"
#include "operator/core/testing/test_world.h"

namespace muster::control {
namespace {

// Decides and stores like the shell: a status that is not written is gone the next time.
Plan Reconcile(TestWorld& world) {
  Plan plan = Decide(world.view, world.memory, world.options);
  world.memory = plan.memory;
  if (plan.write_status) world.view.status = plan.status;
  return plan;
}

// Returns a world with two pods that were just made.
TestWorld Making() {
  TestWorld world(2);
  EXPECT_TRUE(Reconcile(world).write_status);
  EXPECT_EQ(Reconcile(world).creates.size(), 2u);
  world.AddPod(0, PodPhase::kPending);
  world.AddPod(1, PodPhase::kPending);
  return world;
}

// Returns the same world once the status shows the pods.
TestWorld MadeAndTold() {
  TestWorld world = Making();
  world.Advance(world.options.status_write_delay);
  EXPECT_FALSE(Reconcile(world).write_status);
  world.Advance(world.options.status_write_delay);
  EXPECT_TRUE(Reconcile(world).write_status);
  return world;
}

TEST(StatusWritePolicyTest, AGangsProgressIsWrittenOnceForAllPods) {
  TestWorld world = Making();
  Plan plan = Reconcile(world);
  EXPECT_EQ(plan.status.state(), "Starting");
  EXPECT_FALSE(plan.write_status);
  EXPECT_EQ(plan.requeue_after, world.options.status_write_delay);
  EXPECT_TRUE(plan.requeue_when_idle);
  world.view.pods[0].node = "node";
  world.Advance(world.options.status_write_delay / 2);
  EXPECT_FALSE(Reconcile(world).write_status);
  world.view.pods[1].node = "node";
  world.Advance(world.options.status_write_delay / 2);
  plan = Reconcile(world);
  EXPECT_TRUE(plan.write_status);
  EXPECT_FALSE(plan.requeue_when_idle);
  EXPECT_EQ(world.Condition(ConditionType::kScheduled), "True/PodsBound");
  EXPECT_FALSE(Reconcile(world).write_status);
}

TEST(StatusWritePolicyTest, AChangeThatIsUndoneIsNotWritten) {
  TestWorld world = MadeAndTold();
  world.view.pods[0].node = "node";
  EXPECT_FALSE(Reconcile(world).write_status);
  world.view.pods[0].node.clear();
  EXPECT_FALSE(Reconcile(world).write_status);
  EXPECT_EQ(world.memory.write_by, absl::InfiniteFuture());
}

TEST(StatusWritePolicyTest, ARoundIsWrittenAheadAtOnce) {
  TestWorld world = Making();
  EXPECT_FALSE(Reconcile(world).write_status);
  world.view.pods.clear();
  world.AddWorkers();
  const Plan plan = Reconcile(world);
  EXPECT_TRUE(plan.write_status);
  EXPECT_EQ(plan.status.round(), 1);
  EXPECT_EQ(OrderTexts(plan), "Prepare:0 Prepare:1");
}

TEST(StatusWritePolicyTest, ANewTermAndANewGenerationAreWrittenAtOnce) {
  TestWorld world = Making();
  world.view.pods[0].phase = PodPhase::kRunning;
  world.view.leader_term = 2;
  EXPECT_TRUE(Reconcile(world).write_status);
  world.view.job.generation = 2;
  EXPECT_TRUE(Reconcile(world).write_status);
}

// A new leader of ten thousand waiting jobs must not begin with as many writes.
TEST(StatusWritePolicyTest, ANewTermIsNotWrittenBeforeThereCanBeAgents) {
  TestWorld world = MadeAndTold();
  world.view.leader_term = 2;
  for (int i = 0; i < 3; ++i) {
    EXPECT_FALSE(Reconcile(world).write_status);
    world.Advance(world.options.status_write_delay);
  }
  world.view.pods[0].node = "node";
  EXPECT_FALSE(Reconcile(world).write_status);
  world.view.pods[1].node = "node";
  const Plan plan = Reconcile(world);
  EXPECT_TRUE(plan.write_status);
  EXPECT_EQ(plan.status.term(), 2);
  EXPECT_EQ(world.Condition(ConditionType::kScheduled), "True/PodsBound");
}

TEST(StatusWritePolicyTest, TheReasonForNoPlaceStaysUntilTheJobHasOne) {
  TestWorld world = Making();
  world.view.placement.reason = "Insufficient";
  world.view.placement.sentence = "room for 1 of at least 2 workers";
  EXPECT_TRUE(Reconcile(world).write_status);
  world.view.placement = {};
  world.view.leader_term = 2;
  for (int i = 0; i < 3; ++i) {
    EXPECT_FALSE(Reconcile(world).write_status);
    world.Advance(world.options.status_write_delay);
  }
  EXPECT_EQ(world.Condition(ConditionType::kScheduled), "False/Unschedulable");
  world.view.placement.score = 1;  // it was placed, and its binds wait for those of others
  EXPECT_FALSE(Reconcile(world).write_status);
  world.Advance(world.options.status_write_delay);
  EXPECT_FALSE(Reconcile(world).write_status);
  for (PodView& pod : world.view.pods) pod.node = "node";
  EXPECT_TRUE(Reconcile(world).write_status);
  EXPECT_EQ(world.Condition(ConditionType::kScheduled), "True/PodsBound");
}

TEST(StatusWritePolicyTest, NoRoomIsWrittenAtOnceAndChangedNumbersLater) {
  TestWorld world = Making();
  EXPECT_FALSE(Reconcile(world).write_status);
  world.view.placement.reason = "Insufficient";
  world.view.placement.sentence = "room for 1 of at least 2 workers";
  EXPECT_TRUE(Reconcile(world).write_status);
  EXPECT_EQ(world.Condition(ConditionType::kScheduled), "False/Unschedulable");
  world.view.placement.sentence = "room for 0 of at least 2 workers";
  EXPECT_FALSE(Reconcile(world).write_status);
}

TEST(StatusWritePolicyTest, AReplacementIsWrittenAheadAtOnce) {
  TestWorld world = Making();
  world.Advance(world.options.status_write_delay);
  Reconcile(world);
  world.view.pods[0].phase = PodPhase::kFailed;
  const Plan plan = Reconcile(world);
  EXPECT_TRUE(plan.write_status);
  EXPECT_EQ(plan.status.incarnations(0), 2);
}

// Hundreds of agents come back to a new leader, and a write for each would delay reading the
// others.
TEST(StatusWritePolicyTest, AgentsThatComeBackAreWrittenTogether) {
  TestWorld world(4);
  world.MakeActive();
  world.memory = {};
  world.view.leader_term = 2;
  world.view.leading_since = world.view.now;
  std::vector<AgentView> agents = std::exchange(world.view.agents, {});
  for (AgentView& agent : agents) agent.active = agent.seen = {1, 1};
  EXPECT_TRUE(Reconcile(world).write_status) << "the new term";
  for (size_t i = 0; i + 1 < agents.size(); ++i) {
    world.view.agents.push_back(agents[i]);
    EXPECT_FALSE(Reconcile(world).write_status) << i;
  }
  world.Advance(world.options.status_write_delay);
  const Plan plan = Reconcile(world);
  EXPECT_TRUE(plan.write_status);
  EXPECT_EQ(plan.status.workers().ready(), 3);
}

TEST(StatusWritePolicyTest, OnlyChangesThatInformPeopleAreCosmetic) {
  TestWorld world = Making();
  v1alpha1::TrainingJobStatus before = world.view.status;
  v1alpha1::TrainingJobStatus after = before;
  after.set_state("Starting");
  after.mutable_workers()->set_ready(1);
  EXPECT_TRUE(IsCosmeticChange(before, after));
  after.set_state("Training");
  EXPECT_FALSE(IsCosmeticChange(before, after));
  before = after;
  after.mutable_workers()->set_ready(2);
  EXPECT_TRUE(IsCosmeticChange(before, after)) << "of a job that trains";
  after = before;
  after.mutable_failures()->set_count(1);
  EXPECT_FALSE(IsCosmeticChange(before, after));
}

}  // namespace
}  // namespace muster::control
