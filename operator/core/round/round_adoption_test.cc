#include "operator/core/round/round_adoption.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "operator/core/testing/test_world.h"

namespace muster::control {
namespace {

using ::testing::IsEmpty;

TEST(RoundAdoptionTest, ANewLeaderKnowsByWhichSpecTheRecordedRoundTrains) {
  for (const bool changed : {false, true}) {
    TestWorld world(2);
    world.MakeActive();
    for (AgentView& agent : world.view.agents) agent.active = world.memory.id;
    world.memory = RoundMemory();
    world.view.leader_term = 5;
    if (changed) world.view.spec.mutable_trainer()->mutable_train()->set_steps(7000);
    const Plan plan = world.Decide();
    EXPECT_EQ(EventReasons(plan), changed ? "RoundAdopted SpecChanged" : "RoundAdopted");
    EXPECT_EQ(OrderTexts(plan), changed ? "Prepare:0 Prepare:1" : "");
  }
}

TEST(RoundAdoptionTest, ARoundIsAdoptedByItsNumberUnderARaisedTerm) {
  TestWorld world(2);
  world.MakeActive();
  for (AgentView& agent : world.view.agents) agent.active = world.memory.id;
  world.memory = RoundMemory();
  world.view.leader_term = 5;
  const Plan plan = world.Decide();
  EXPECT_EQ(EventReasons(plan), "RoundAdopted");
  EXPECT_THAT(plan.orders, IsEmpty());
  EXPECT_EQ(plan.status.term(), 5);
  EXPECT_EQ(plan.status.round(), 1);
}

// Its part of the state is needed, and the smaller size is a planned one.
TEST(RoundAdoptionTest, AWorkerBeyondASmallerCountStaysUntilTheSmallerRoundTrains) {
  TestWorld world(3);
  world.MakeActive();
  for (AgentView& agent : world.view.agents) agent.active = world.memory.id;
  const AgentView last = world.view.agents.back();
  world.view.agents.pop_back();
  world.memory = RoundMemory();
  world.view.leader_term = 5;
  world.view.leading_since = world.view.now;
  world.view.spec.mutable_workers()->set_count(2);
  Plan plan = world.Decide();
  EXPECT_THAT(plan.deletes, IsEmpty()) << "the agent has not attached to this leader yet";
  world.view.agents.push_back(last);
  plan = world.Decide();
  EXPECT_EQ(EventReasons(plan), "RoundAdopted MembershipChanged");
  EXPECT_THAT(plan.deletes, IsEmpty());
  world.JoinRound();
  plan = world.Decide();
  ASSERT_EQ(plan.deletes.size(), 1u);
  EXPECT_EQ(plan.deletes[0].uid, "uid-job-2-1");
  EXPECT_EQ(plan.status.resize().from(), 3);
  EXPECT_EQ(plan.status.resize().to(), 2);
}

}  // namespace
}  // namespace muster::control
