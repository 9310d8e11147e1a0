#include "operator/core/saves/save_request.h"

#include <string>

#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "operator/core/testing/test_world.h"

namespace muster::control {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

TestWorld ActiveWorld() {
  TestWorld world(2);
  world.view.spec.mutable_checkpoint()->set_uri("/checkpoints");
  world.MakeActive();
  world.Decide();
  return world;
}

void ChangeLeaders(TestWorld& world) {
  for (AgentView& agent : world.view.agents) agent.active = agent.seen = world.memory.id;
  world.memory = RoundMemory{};
  ++world.view.leader_term;
  world.view.leading_since = world.view.now;
}

TEST(SaveRequestTest, EachNewValueOrdersOneCheckpoint) {
  TestWorld world = ActiveWorld();
  for (const char* value : {"2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z", "again, please"}) {
    world.view.job.save_request = value;
    const Plan plan = world.Decide();
    EXPECT_EQ(OrderTexts(plan), "Save:0 Save:1") << value;
    EXPECT_EQ(EventReasons(plan), "SaveRequested");
    EXPECT_THAT(OrderTexts(world.Decide()), IsEmpty()) << "once";
  }
  world.view.job.save_request.clear();
  EXPECT_THAT(OrderTexts(world.Decide()), IsEmpty()) << "nobody asks";
}

TEST(SaveRequestTest, ItWaitsForARoundAndForAnAgent) {
  TestWorld world(2);
  world.view.spec.mutable_checkpoint()->set_uri("/checkpoints");
  world.view.job.save_request = "now";
  world.AddWorkers();
  EXPECT_EQ(OrderTexts(world.Decide()), "Prepare:0 Prepare:1");
  for (AgentView& agent : world.view.agents) {
    agent.ready = ReadyReport{world.memory.id, std::vector<v1alpha1::RankReady>(1)};
  }
  EXPECT_EQ(OrderTexts(world.Decide()), "Go:0 Go:1");
  for (AgentView& agent : world.view.agents) {
    agent.joined = Joined(world.memory);
    agent.attached = false;
    agent.detached_at = world.view.now;
  }
  EXPECT_THAT(OrderTexts(world.Decide()), IsEmpty());
  ASSERT_EQ(world.memory.phase, RoundPhase::kActive);
  world.view.agents[1].attached = true;
  EXPECT_EQ(OrderTexts(world.Decide()), "Save:1") << "ranks vote: one that is told is enough";
  world.view.agents[0].attached = true;
  EXPECT_THAT(OrderTexts(world.Decide()), IsEmpty());
}

TEST(SaveRequestTest, ANewLeaderSavesOnceMoreUnlessANewerCheckpointIsThere) {
  TestWorld world = ActiveWorld();
  world.view.job.save_request = FormatWall(world.view.wall);
  EXPECT_EQ(OrderTexts(world.Decide()), "Save:0 Save:1");
  ChangeLeaders(world);
  EXPECT_EQ(OrderTexts(world.Decide()), "Save:0 Save:1")
      << "its predecessor may not have got to it";
  world.Advance(absl::Seconds(5));
  world.view.status.mutable_checkpoint()->set_step(7);
  world.view.status.mutable_checkpoint()->set_time(FormatWall(world.view.wall));
  ChangeLeaders(world);
  EXPECT_THAT(OrderTexts(world.Decide()), IsEmpty());
  EXPECT_THAT(OrderTexts(world.Decide()), IsEmpty());
  // A request that appears under this leader is new, whatever time it names.
  world.view.job.save_request = "2001-01-01T00:00:00Z";
  EXPECT_EQ(OrderTexts(world.Decide()), "Save:0 Save:1");
}

TEST(SaveRequestTest, AJobThatCannotSaveRefusesOnceAndSaysWhy) {
  TestWorld without(2);
  without.MakeActive();
  without.Decide();
  without.view.job.save_request = "now";
  const Plan plan = without.Decide();
  EXPECT_THAT(OrderTexts(plan), IsEmpty());
  ASSERT_EQ(plan.events.size(), 1u);
  EXPECT_EQ(plan.events[0].type, Event::Type::kWarning);
  EXPECT_THAT(plan.events[0].message, HasSubstr("the job has no spec.checkpoint to save to"));
  EXPECT_THAT(without.Decide().events, IsEmpty());
}

TEST(SaveRequestTest, ACommandIsAskedAndTheEventSaysThatItNeedNotListen) {
  TestWorld command(2);
  command.view.spec.clear_trainer();
  command.view.spec.mutable_checkpoint()->set_uri("/checkpoints");
  command.MakeActive();
  command.Decide();
  command.view.job.save_request = "now";
  const Plan plan = command.Decide();
  EXPECT_EQ(OrderTexts(plan), "Save:0 Save:1");
  ASSERT_EQ(plan.events.size(), 1u);
  EXPECT_THAT(plan.events[0].message, HasSubstr("if it listens"));
}

}  // namespace
}  // namespace muster::control
