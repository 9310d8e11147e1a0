#include "operator/core/round_adoption.h"

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

}  // namespace
}  // namespace muster::control
