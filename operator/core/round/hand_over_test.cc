#include "operator/core/round/hand_over.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "operator/core/testing/command_world.h"
#include "operator/core/testing/test_world.h"

namespace muster::control {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

// A job of four workers whose ranks divide the state, by `shard` of them.
TestWorld DividedWorld(int shard) {
  TestWorld world(4);
  world.view.spec.mutable_workers()->set_min(1);
  world.view.spec.mutable_checkpoint()->set_uri("/checkpoints");
  world.view.spec.mutable_trainer()->mutable_parallelism()->set_zero(1);
  if (shard < 4) world.view.spec.mutable_trainer()->mutable_parallelism()->set_shard(shard);
  world.MakeActive();
  return world;
}

void Write(TestWorld& world, int64_t step) {
  v1alpha1::CheckpointReport report;
  report.mutable_version()->set_step(step);
  report.set_uri("/checkpoints/step");
  world.view.checkpoint.written = report;
}

TEST(HandOverTest, TheJobSavesBeforeTheOnlyHoldersOfASliceLeave) {
  TestWorld world = DividedWorld(4);
  Write(world, 10);
  world.Decide();
  world.view.spec.mutable_workers()->set_count(3);
  const Plan plan = world.Decide();
  EXPECT_EQ(OrderTexts(plan), "Save:0 Save:1 Save:2 Save:3");
  EXPECT_EQ(EventReasons(plan), "SaveRequested");
  EXPECT_EQ(world.memory.phase, RoundPhase::kActive) << "it trains on while it saves";
  EXPECT_THAT(OrderTexts(world.Decide()), IsEmpty()) << "it is asked once";
  Write(world, 12);
  EXPECT_EQ(OrderTexts(world.Decide()), "Prepare:0 Prepare:1 Prepare:2");
}

// Its predecessor ended before it saw the new count.
TEST(HandOverTest, ANewLeaderSavesBeforeItChangesTheRoundThatItAdopts) {
  TestWorld world = DividedWorld(4);
  Write(world, 10);
  world.Decide();
  for (AgentView& agent : world.view.agents) agent.active = world.memory.id;
  world.memory = RoundMemory();
  world.view.leader_term = 5;
  world.view.spec.mutable_workers()->set_count(3);
  const Plan plan = world.Decide();
  EXPECT_EQ(EventReasons(plan), "RoundAdopted SaveRequested");
  EXPECT_EQ(OrderTexts(plan), "Save:0 Save:1 Save:2 Save:3");
  EXPECT_EQ(world.memory.phase, RoundPhase::kActive) << "it trains on while it saves";
  EXPECT_THAT(plan.deletes, IsEmpty());
  Write(world, 12);
  EXPECT_EQ(OrderTexts(world.Decide()), "Prepare:0 Prepare:1 Prepare:2");
}

TEST(HandOverTest, ItDoesNotWaitForeverForTheCheckpoint) {
  TestWorld world = DividedWorld(4);
  world.view.spec.mutable_workers()->set_count(3);
  world.Decide();
  world.Advance(absl::Seconds(119));
  EXPECT_THAT(OrderTexts(world.Decide()), IsEmpty());
  world.Advance(absl::Seconds(2));
  EXPECT_EQ(OrderTexts(world.Decide()), "Prepare:0 Prepare:1 Prepare:2");
}

TEST(HandOverTest, WhereAnotherCopyHasTheSlicesTheRoundGoesOnAtOnce) {
  TestWorld world = DividedWorld(2);
  world.view.spec.mutable_workers()->set_count(3);
  EXPECT_EQ(OrderTexts(world.Decide()), "Prepare:0 Prepare:1") << "three ranks are no multiple";
  EXPECT_THAT(OrderTexts(world.Decide()), IsEmpty());
}

// Workers 1 to 3 began without worker 0. None of them stays, and yet worker 1 has the whole state.
TEST(HandOverTest, WhereEveryRankHasACopyOneOfThemIsKeptAndNothingIsSaved) {
  for (const int zero : {0, 1}) {
    TestWorld world(4);
    world.view.spec.mutable_workers()->set_max(4);
    world.view.spec.mutable_checkpoint()->set_uri("/checkpoints");
    world.view.spec.mutable_trainer()->mutable_parallelism()->set_zero(zero);
    world.view.spec.mutable_trainer()->mutable_parallelism()->set_shard(1);
    world.view.placement.reason = "Unschedulable";
    world.AddPod(0, PodPhase::kPending);
    for (int index = 1; index < 4; ++index) {
      world.AddPod(index);
      world.AddAgent(index);
    }
    world.Decide();
    world.Advance(world.options.replacement_wait);
    ASSERT_EQ(OrderTexts(world.Decide()), "Prepare:1 Prepare:2 Prepare:3");
    world.JoinRound();
    world.Decide();
    ASSERT_EQ(world.memory.phase, RoundPhase::kActive);
    world.view.pods[0].phase = PodPhase::kRunning;
    world.view.pods[0].node = "node";
    world.AddAgent(0);
    world.view.spec.mutable_workers()->set_count(1);
    EXPECT_EQ(OrderTexts(world.Decide()), "Prepare:0 Prepare:1");
  }
}

TEST(HandOverTest, AJobThatGetsItsWorkersBackTrainsOn) {
  TestWorld world = DividedWorld(4);
  world.view.spec.mutable_workers()->set_count(3);
  world.Decide();
  world.view.spec.mutable_workers()->set_count(4);
  EXPECT_THAT(OrderTexts(world.Decide()), IsEmpty());
  EXPECT_FALSE(world.memory.hand_over.until.has_value());
  EXPECT_EQ(world.memory.phase, RoundPhase::kActive);
}

// A command of two workers that trains, and is to have `count`.
CommandWorld ScaledCommand(int count) {
  CommandWorld world(2);
  world.view.spec.mutable_checkpoint()->set_uri("/checkpoints");
  world.view.spec.mutable_workers()->set_max(3);
  world.Decide();
  world.AddWorkers();
  world.Decide();
  world.JoinAll();
  world.view.spec.mutable_workers()->set_count(count);
  return world;
}

TEST(HandOverTest, ACommandThatReportsCheckpointsSavesBeforeOtherMembersEndItsProcesses) {
  for (const int count : {1, 3}) {
    CommandWorld world = ScaledCommand(count);
    Write(world, 20);
    if (count == 3) {
      world.Decide();
      world.AddPod(2);
      world.AddAgent(2);
      world.Advance(absl::Seconds(5));
    }
    const Plan plan = world.Decide();
    EXPECT_EQ(OrderTexts(plan), "Save:0 Save:1") << count;
    EXPECT_THAT(EventReasons(plan), HasSubstr("SaveRequested"));
    EXPECT_EQ(world.memory.phase, RoundPhase::kActive);
    Write(world, 23);
    world.Decide();
    EXPECT_EQ(world.memory.broken_sentence, count == 1
                                                ? "workers.count is 1 now"
                                                : "worker 2 is attached and joins the next round");
  }
}

TEST(HandOverTest, ACommandThatNeverReportedACheckpointIsNotWaitedFor) {
  CommandWorld world = ScaledCommand(1);
  world.Decide();
  EXPECT_EQ(world.memory.broken_sentence, "workers.count is 1 now");
}

TEST(HandOverTest, ACommandThatDoesNotSaveHoldsUpTheChangeForTwoMinutes) {
  CommandWorld world = ScaledCommand(1);
  Write(world, 20);
  EXPECT_EQ(OrderTexts(world.Decide()), "Save:0 Save:1");
  world.Advance(absl::Seconds(119));
  world.Decide();
  EXPECT_EQ(world.memory.broken_sentence, "");
  world.Advance(absl::Seconds(2));
  world.Decide();
  EXPECT_EQ(world.memory.broken_sentence, "workers.count is 1 now");
}

}  // namespace
}  // namespace muster::control
