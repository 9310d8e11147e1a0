// Notices of node agents, with their own deadlines: the plans, and what becomes of them.
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "operator/core/leave/spot.h"
#include "operator/core/state/conditions.h"
#include "operator/core/state/leave_plan.h"
#include "operator/core/testing/spot_fixture.h"
#include "operator/core/testing/test_world.h"

namespace muster::control {
namespace {

using ::testing::IsEmpty;

// A notice of the agent of worker `index`'s node.
void Announce(TestWorld& world, int index, absl::Duration left,
              const std::string& kind = "Reclaim") {
  world.view.pods[index].node_notice = NodeNotice{kind, "AWS", world.view.wall + left};
}

// Makes the operator know how long a save takes.
void WriteIn(TestWorld& world, int64_t step, absl::Duration time) {
  Write(world, step);
  world.view.checkpoint.written->set_seconds(absl::ToDoubleSeconds(time));
}

const v1alpha1::NoticeOutcome& Outcome(const TestWorld& world) {
  return world.view.status.workers().last_notice();
}

TEST(SpotNoticeTest, ANoticeOfTheNodesAgentIsTakenByItsOwnDeadline) {
  TestWorld world = ActiveWorld(2, 1);
  WriteIn(world, 10, absl::Seconds(40));
  world.Decide();
  Announce(world, 1, absl::Seconds(100));
  Plan plan = world.Decide();
  EXPECT_EQ(OrderTexts(plan), "Save:1");
  ASSERT_EQ(plan.events.size(), 1u);
  EXPECT_EQ(plan.events[0].message,
            "node node of worker 1 goes away in 1m40s (muster.dev/notice=Reclaim, AWS takes the "
            "node): a checkpoint is saved before it leaves, because a checkpoint takes 40s, and "
            "1m40s are left");
  const v1alpha1::LeavingWorker& leaving = world.view.status.workers().leaving(0);
  EXPECT_EQ(leaving.plan(), "Save");
  EXPECT_EQ(leaving.notice(), "muster.dev/notice=Reclaim, AWS takes the node");
  EXPECT_EQ(leaving.deadline(), FormatWall(world.view.wall + absl::Seconds(100)));
  EXPECT_EQ(leaving.leave_time(), FormatWall(world.view.wall + absl::Seconds(90)));
  world.Advance(absl::Seconds(89));
  EXPECT_THAT(OrderTexts(world.Decide()), IsEmpty());
  world.Advance(absl::Seconds(1));
  EXPECT_EQ(OrderTexts(world.Decide()), "Prepare:0") << "ten seconds are kept for the next round";
}

TEST(SpotNoticeTest, AWorkerWithGpusLeavesANodeWithABrokenOneBeforeItFails) {
  for (const int gpus : {0, 8}) {
    TestWorld world = ActiveWorld(2, 1);
    world.view.spec.mutable_workers()->set_gpus(gpus);
    WriteIn(world, 10, absl::Seconds(40));
    world.Decide();
    world.view.pods[1].gpu_fault = "muster.dev/GPUHealthy is False (FatalXid)";
    EXPECT_EQ(OrderTexts(world.Decide()), gpus == 0 ? "" : "Save:1");
    if (gpus == 0) continue;
    EXPECT_EQ(world.view.status.workers().leaving(0).notice(),
              "muster.dev/GPUHealthy is False (FatalXid), its GPUs are not to be used");
    Write(world, 12);
    EXPECT_EQ(OrderTexts(world.Decide()), "Prepare:0");
    EXPECT_EQ(world.view.status.failures().count(), 0) << "it has not failed";
  }
}

TEST(SpotNoticeTest, ABrokenNetworkConcernsJobsOfSeveralWorkersAndABrokenMachineAll) {
  for (const int workers : {1, 2}) {
    for (const bool network : {true, false}) {
      TestWorld world = ActiveWorld(workers, 1);
      WriteIn(world, 10, absl::Seconds(40));
      world.Decide();
      PodView& pod = world.view.pods.back();
      (network ? pod.network_fault : pod.machine_fault) = "it is broken";
      const bool leaves = workers > 1 || !network;
      EXPECT_EQ(OrderTexts(world.Decide()), leaves ? absl::StrCat("Save:", workers - 1) : "");
      EXPECT_EQ(world.view.status.workers().leaving_size(), leaves ? 1 : 0);
    }
  }
}

TEST(SpotNoticeTest, WithoutTimeForACheckpointItHandsOverAndTheDeadlineIsKept) {
  TestWorld world = ActiveWorld(3, 1);
  WriteIn(world, 10, absl::Seconds(60));
  world.Decide();
  Announce(world, 1, absl::Seconds(30));
  Plan plan = world.Decide();
  EXPECT_EQ(OrderTexts(plan), "Prepare:0 Prepare:2") << "no save is begun";
  EXPECT_EQ(world.view.status.workers().leaving(0).plan(), "HandOver");
  world.Advance(absl::Seconds(1));
  world.JoinRound();
  plan = world.Decide();
  EXPECT_EQ(plan.status.incarnations(1), 2);
  EXPECT_THAT(EventReasons(plan), testing::HasSubstr("NoticeKept"));
  EXPECT_EQ(Outcome(world).outcome(), "Kept");
  EXPECT_EQ(Outcome(world).plan(), "HandOver");
  EXPECT_EQ(Outcome(world).index(), 1);
  EXPECT_EQ(Outcome(world).incarnation(), 1);
  EXPECT_DOUBLE_EQ(Outcome(world).seconds_left(), 29);
  EXPECT_EQ(Outcome(world).message(), "worker 1 left its node 29s before the deadline");
  EXPECT_EQ(world.view.status.workers().leaving_size(), 0);
  EXPECT_THAT(EventReasons(world.Decide()), testing::Not(testing::HasSubstr("Notice")))
      << "it is told once";
}

TEST(SpotNoticeTest, WorkersThatGoTogetherHoldNothingForEachOther) {
  TestWorld world = ActiveWorld(2, 1);
  WriteIn(world, 10, absl::Seconds(60));
  world.Decide();
  Announce(world, 0, absl::Seconds(30));
  Announce(world, 1, absl::Seconds(30));
  const Plan plan = world.Decide();
  EXPECT_EQ(world.memory.workers[0].notice.plan, LeavePlan::kLeave);
  EXPECT_EQ(world.memory.workers[1].notice.plan, LeavePlan::kLeave);
  EXPECT_EQ(plan.status.incarnations(0), 2) << "both are replaced at once";
  EXPECT_EQ(plan.status.incarnations(1), 2);
}

TEST(SpotNoticeTest, AllNodesAtOnceWithTimeSaveOnceAndAreReplaced) {
  TestWorld world = ActiveWorld(2, 2);
  WriteIn(world, 10, absl::Seconds(5));
  world.Decide();
  Announce(world, 0, absl::Seconds(120));
  Announce(world, 1, absl::Seconds(120));
  EXPECT_EQ(OrderTexts(world.Decide()), "Save:0 Save:1");
  WriteIn(world, 17, absl::Seconds(5));
  const Plan plan = world.Decide();
  EXPECT_EQ(plan.status.incarnations(0), 2);
  EXPECT_EQ(plan.status.incarnations(1), 2);
  EXPECT_EQ(Outcome(world).outcome(), "Kept");
  EXPECT_THAT(Outcome(world).message(), testing::HasSubstr("with a checkpoint of step 17"));
}

TEST(SpotNoticeTest, ANoticeThatIsTakenBackBeforeTheWorkerLeavesIsForgotten) {
  TestWorld world = ActiveWorld(2, 1);
  world.view.pods[0].node_conditions = {{"Ready", "True", "KubeletReady"}};
  Announce(world, 0, absl::Seconds(120));
  EXPECT_EQ(OrderTexts(world.Decide()), "Save:0");
  world.view.pods[0].node_notice.reset();
  const Plan plan = world.Decide();
  EXPECT_EQ(EventReasons(plan), "NoticeWithdrawn");
  EXPECT_EQ(Outcome(world).outcome(), "Withdrawn");
  EXPECT_EQ(world.view.status.workers().leaving_size(), 0);
  world.Advance(absl::Minutes(5));
  EXPECT_THAT(OrderTexts(world.Decide()), IsEmpty());
  EXPECT_EQ(world.memory.phase, RoundPhase::kActive);
  Announce(world, 0, absl::Seconds(120));
  EXPECT_EQ(OrderTexts(world.Decide()), "Save:0") << "a second notice counts anew";
}

TEST(SpotNoticeTest, ANodeThatTheCacheLacksTakesNoNoticeBack) {
  TestWorld world = ActiveWorld(2, 1);
  Announce(world, 0, absl::Seconds(120));
  world.Decide();
  world.view.pods[0].node_notice.reset();
  world.view.pods[0].node_conditions = {{"Ready", "Unknown", kNodeDeleted}};
  EXPECT_THAT(EventReasons(world.Decide()), testing::Not(testing::HasSubstr("NoticeWithdrawn")));
  EXPECT_EQ(world.view.status.workers().leaving_size(), 1);
}

TEST(SpotNoticeTest, ASecondNoticeWithLessTimeShortensTheFirst) {
  TestWorld world = ActiveWorld(2, 1);
  WriteIn(world, 10, absl::Seconds(20));
  world.Decide();
  Announce(world, 0, absl::Minutes(10), "Maintenance");
  EXPECT_EQ(OrderTexts(world.Decide()), "Save:0");
  world.Advance(absl::Seconds(5));
  Announce(world, 0, absl::Seconds(60));
  Plan plan = world.Decide();
  EXPECT_EQ(EventReasons(plan), "NodeGoesAway");
  EXPECT_THAT(OrderTexts(plan), IsEmpty()) << "the save is under way";
  EXPECT_EQ(world.view.status.workers().leaving(0).deadline(),
            FormatWall(world.view.wall + absl::Seconds(60)));
  EXPECT_THAT(EventReasons(world.Decide()), IsEmpty()) << "the same notice again";
  world.Advance(absl::Seconds(50));
  EXPECT_EQ(OrderTexts(world.Decide()), "Prepare:1");
}

TEST(SpotNoticeTest, ALateNoticeLeavesAtOnceAndSaysThatItWasLate) {
  TestWorld world = ActiveWorld(3, 1);
  WriteIn(world, 10, absl::Seconds(1));
  world.Decide();
  Announce(world, 2, -absl::Seconds(20));
  EXPECT_EQ(OrderTexts(world.Decide()), "Prepare:0 Prepare:1");
  world.Advance(absl::Seconds(2));
  world.JoinRound();
  const Plan plan = world.Decide();
  EXPECT_THAT(EventReasons(plan), testing::HasSubstr("NoticeMissed"));
  EXPECT_EQ(Outcome(world).outcome(), "Missed");
  EXPECT_EQ(Outcome(world).message(), "worker 2 left its node only 22s after the deadline");
}

TEST(SpotNoticeTest, AWorkerThatIsLostBeforeItLeavesHasMissedItsDeadline) {
  TestWorld world = ActiveWorld(2, 1);
  WriteIn(world, 10, absl::Seconds(20));
  world.Decide();
  Announce(world, 1, absl::Seconds(100));
  world.Decide();
  world.Advance(absl::Seconds(10));
  world.view.pods[1].phase = PodPhase::kFailed;
  world.view.agents[1].attached = false;
  world.view.agents[1].detached_at = world.view.now;
  for (int i = 0; i < 3 && Outcome(world).outcome().empty(); ++i) world.Decide();
  EXPECT_EQ(Outcome(world).outcome(), "Missed");
  EXPECT_EQ(Outcome(world).message(),
            "worker 1 was lost 1m30s before the deadline, before it left its node");
}

TEST(SpotNoticeTest, ANewLeaderGoesOnWithTheDeadlineOfTheAgentsNotice) {
  TestWorld world = ActiveWorld(2, 1);
  WriteIn(world, 10, absl::Seconds(30));
  world.Decide();
  Announce(world, 0, absl::Seconds(100));
  EXPECT_EQ(OrderTexts(world.Decide()), "Save:0");
  const std::string deadline = world.view.status.workers().leaving(0).deadline();
  world.Advance(absl::Seconds(40));
  ChangeLeaders(world);
  Plan plan = world.Decide();
  EXPECT_THAT(EventReasons(plan), testing::Not(testing::HasSubstr("NodeGoesAway")));
  EXPECT_EQ(world.view.status.workers().leaving(0).deadline(), deadline);
  EXPECT_EQ(OrderTexts(world.Decide()), "Save:0");
  // The new leader has timed no save, so that half of the minute that is left is given to it.
  world.Advance(absl::Seconds(29));
  EXPECT_THAT(OrderTexts(world.Decide()), IsEmpty());
  world.Advance(absl::Seconds(1));
  EXPECT_EQ(OrderTexts(world.Decide()), "Prepare:1");
  world.JoinRound();
  world.Decide();
  EXPECT_EQ(Outcome(world).outcome(), "Kept");
  EXPECT_NEAR(Outcome(world).seconds_left(), 30, 1);
}

TEST(SpotNoticeTest, DuringARecoveryAWorkerWhoseStateOthersHoldLeavesAtOnce) {
  TestWorld world = ActiveWorld(3, 1);
  world.view.agents[2].attached = false;
  world.view.pods[2].phase = PodPhase::kFailed;
  world.Decide();
  ASSERT_NE(world.memory.phase, RoundPhase::kActive);
  Announce(world, 1, absl::Seconds(100));
  world.Decide();
  EXPECT_TRUE(world.memory.workers[1].notice.leaves);
  EXPECT_EQ(world.memory.workers[1].notice.plan, LeavePlan::kHandOver);
}

TEST(SpotNoticeTest, DuringARecoveryAWorkerThatAloneHoldsAPartWaitsForTheNextRound) {
  TestWorld world = ActiveWorld(3, 1);
  world.view.spec.mutable_trainer()->mutable_parallelism()->set_zero(1);
  StallReport stall;
  stall.round = world.memory.id;
  world.view.agents[2].stalls.push_back(stall);
  world.Decide();
  ASSERT_EQ(world.memory.phase, RoundPhase::kPreparing);
  ASSERT_EQ(world.memory.members.size(), 3u);
  Announce(world, 1, absl::Seconds(100));
  world.Decide();
  EXPECT_FALSE(world.memory.workers[1].notice.leaves);
  world.JoinRound();
  world.Decide();
  EXPECT_EQ(world.memory.phase, RoundPhase::kActive);
  EXPECT_EQ(OrderTexts(world.Decide()), "Save:1") << "the round that it waited for saves";
}

}  // namespace
}  // namespace muster::control
