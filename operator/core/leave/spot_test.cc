#include "operator/core/leave/spot.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "operator/core/testing/spot_fixture.h"
#include "operator/core/testing/test_world.h"

namespace muster::control {
namespace {

using ::testing::IsEmpty;

constexpr char kSpotItn[] = "aws-node-termination-handler/spot-itn";

void Taint(TestWorld& world, int index, const std::string& key, const std::string& value = "") {
  world.view.pods[index].node_taints.push_back({key, value, "NoSchedule"});
}

TEST(SpotTest, ACheckpointIsRequestedThenTheNextRoundGoesWithoutTheWorker) {
  TestWorld world = ActiveWorld(3, 1);
  Write(world, 10);
  world.Decide();
  Taint(world, 1, kSpotItn);
  Plan plan = world.Decide();
  EXPECT_EQ(OrderTexts(plan), "Save:1");
  EXPECT_EQ(EventReasons(plan), "NodeGoesAway");
  EXPECT_EQ(world.memory.phase, RoundPhase::kActive) << "it trains on while it saves";
  EXPECT_THAT(OrderTexts(world.Decide()), IsEmpty()) << "it is asked once";

  Write(world, 17);
  plan = world.Decide();
  EXPECT_EQ(OrderTexts(plan), "Prepare:0 Prepare:2");
  EXPECT_THAT(plan.deletes, IsEmpty()) << "until the smaller round is active";
  EXPECT_EQ(plan.status.incarnations(1), 1);
  EXPECT_EQ(world.memory.backoff.streak, 0) << "no failure";

  world.JoinRound();
  plan = world.Decide();
  EXPECT_EQ(world.memory.phase, RoundPhase::kActive);
  EXPECT_EQ(plan.status.incarnations(1), 2);
  plan = world.Decide();
  ASSERT_EQ(plan.deletes.size(), 1u);
  EXPECT_EQ(plan.deletes[0].name, "job-1-1");
  ASSERT_EQ(plan.creates.size(), 1u);
  EXPECT_EQ(plan.creates[0].name, "job-1-2");
}

TEST(SpotTest, WithoutACheckpointInTimeItLeavesAtHalfTheWarning) {
  TestWorld world = ActiveWorld(2, 1);
  Taint(world, 0, kSpotItn);
  world.Decide();
  world.Advance(absl::Seconds(59));
  EXPECT_THAT(OrderTexts(world.Decide()), IsEmpty());
  world.Advance(absl::Seconds(1));
  EXPECT_EQ(OrderTexts(world.Decide()), "Prepare:1");
}

// A new leader must neither start the notice over nor leave at once without a checkpoint.
TEST(SpotTest, ANewLeaderGoesOnWithTheNoticeOfTheLastOne) {
  TestWorld world = ActiveWorld(2, 1);
  Write(world, 10);
  Taint(world, 0, kSpotItn);
  EXPECT_EQ(OrderTexts(world.Decide()), "Save:0");
  ASSERT_EQ(world.view.status.workers().leaving_size(), 1);
  EXPECT_EQ(world.view.status.workers().leaving(0).checkpoint_step(), 10);
  world.Advance(absl::Seconds(40));
  ChangeLeaders(world);
  Plan plan = world.Decide();
  EXPECT_THAT(EventReasons(plan), testing::Not(testing::HasSubstr("NodeGoesAway")))
      << "it was told";
  EXPECT_EQ(world.memory.phase, RoundPhase::kActive) << "adopted";
  EXPECT_EQ(OrderTexts(world.Decide()), "Save:0") << "the last one's may be lost";
  world.Advance(absl::Seconds(19) - absl::Milliseconds(1));
  EXPECT_THAT(OrderTexts(world.Decide()), IsEmpty());
  world.Advance(absl::Seconds(1) + absl::Milliseconds(1));
  EXPECT_EQ(OrderTexts(world.Decide()), "Prepare:1");
}

TEST(SpotTest, ACheckpointOfTheLastLeadershipLetsTheWorkerLeave) {
  TestWorld world = ActiveWorld(2, 1);
  Taint(world, 0, kSpotItn);
  world.Decide();
  Write(world, 17);
  world.view.status.mutable_checkpoint()->set_step(17);
  ChangeLeaders(world);
  EXPECT_EQ(OrderTexts(world.Decide()), "Prepare:1");
}

// It is not known yet whether the agents still step, so they may save.
TEST(SpotTest, ANewLeaderWaitsForTheAgentsBeforeAWorkerLeaves) {
  TestWorld world = ActiveWorld(2, 1);
  ChangeLeaders(world);
  for (AgentView& agent : world.view.agents) {
    agent.attached = false;
    agent.detached_at = world.view.now;
  }
  Taint(world, 0, kSpotItn);
  const Plan plan = world.Decide();
  EXPECT_EQ(EventReasons(plan), "NodeGoesAway");
  EXPECT_EQ(plan.status.incarnations(0), 1);
  for (AgentView& agent : world.view.agents) agent.attached = true;
  world.Decide();
  EXPECT_EQ(world.memory.phase, RoundPhase::kActive);
  EXPECT_EQ(OrderTexts(world.Decide()), "Save:0");
}

TEST(SpotTest, AWallClockSetBackLengthensNoNotice) {
  TestWorld world = ActiveWorld(2, 1);
  Taint(world, 0, kSpotItn);
  world.Decide();
  world.view.wall -= absl::Hours(1);
  ChangeLeaders(world);
  world.Decide();
  world.Advance(absl::Seconds(60));
  EXPECT_EQ(OrderTexts(world.Decide()), "Prepare:1");
}

TEST(SpotTest, TheStatusForgetsANoticeWithItsPod) {
  TestWorld world = ActiveWorld(2, 2);
  Taint(world, 1, kSpotItn);
  world.Decide();
  EXPECT_EQ(world.view.status.workers().leaving_size(), 1);
  Write(world, 5);
  world.Decide();
  world.Decide();
  EXPECT_EQ(world.view.status.incarnations(1), 2);
  EXPECT_EQ(world.view.status.workers().leaving_size(), 0);
}

TEST(SpotTest, BelowMinItsPodIsMadeAnewAndTheOthersHold) {
  TestWorld world = ActiveWorld(2, 2);
  Taint(world, 1, kSpotItn);
  world.Decide();
  Write(world, 5);
  Plan plan = world.Decide();
  EXPECT_EQ(plan.status.incarnations(1), 2);
  EXPECT_EQ(world.memory.phase, RoundPhase::kActive) << "until the replacement is recorded";
  plan = world.Decide();
  EXPECT_EQ(world.memory.phase, RoundPhase::kHolding);
  EXPECT_EQ(world.memory.broken_reason, Reason::kMembershipChanged);
  EXPECT_THAT(plan.status.conditions(), testing::Not(IsEmpty()));
  ASSERT_EQ(plan.creates.size(), 1u);
  EXPECT_EQ(plan.creates[0].name, "job-1-2");
  ASSERT_EQ(plan.deletes.size(), 1u);
  EXPECT_EQ(plan.deletes[0].name, "job-1-1");
}

TEST(SpotTest, BeforeTheFirstRoundItMovesAtOnce) {
  TestWorld world(2);
  world.AddPod(0);
  world.AddPod(1, PodPhase::kPending);
  Taint(world, 0, "karpenter.sh/disrupted");
  const Plan plan = world.Decide();
  EXPECT_EQ(plan.status.incarnations(0), 2);
  EXPECT_EQ(plan.status.incarnations(1), 1);
}

TEST(SpotTest, TheEventNamesNodeTaintAndTime) {
  TestWorld world = ActiveWorld(2, 1);
  Taint(world, 0, kSpotItn);
  const Plan plan = world.Decide();
  ASSERT_EQ(plan.events.size(), 1u);
  EXPECT_EQ(
      plan.events[0].message,
      "node node of worker 0 goes away in 2m (aws-node-termination-handler/spot-itn, AWS takes "
      "a spot node): a checkpoint is saved before it leaves, because no checkpoint has been "
      "timed yet, so it gets half of the 2m that are left");
}

// The status of a job must not grow with the thousands of workers that leave at once.
TEST(SpotTest, TheStatusNamesThe256WorkersThatLeaveFirst) {
  constexpr int kWorkers = 300;
  TestWorld world = ActiveWorld(kWorkers, 1);
  for (int i = 0; i < kWorkers; ++i) {
    if (i < 290) {
      world.view.pods[i].machine_fault = "muster.dev/DisksHealthy is False (DiskFailed)";
    } else {
      Taint(world, i, kSpotItn);
    }
  }
  const Plan plan = world.Decide();
  const auto& leaving = plan.status.workers().leaving();
  ASSERT_EQ(leaving.size(), 256);
  EXPECT_EQ(leaving[0].index(), 0);
  EXPECT_EQ(leaving[255].index(), 299) << "ten have less time";
  EXPECT_TRUE(world.memory.workers[289].notice.incarnation == 1)
      << "they are remembered all the same";
}

TEST(SpotTest, ANewLeaderGrantsNoNewWarningToWorkersThatTheStatusHadNoRoomFor) {
  constexpr int kWorkers = 300;
  TestWorld world = ActiveWorld(kWorkers, 1);
  for (int i = 0; i < kWorkers; ++i) Taint(world, i, kSpotItn);
  world.Decide();
  const absl::Time leave = world.view.now + absl::Seconds(60);
  world.Advance(absl::Seconds(50));
  ChangeLeaders(world);
  const Plan plan = world.Decide();
  for (int i = 0; i < kWorkers; ++i) {
    EXPECT_EQ(world.memory.workers[i].notice.incarnation, 1) << i;
    EXPECT_EQ(world.memory.workers[i].notice.leave_at, leave) << i;
  }
  EXPECT_EQ(plan.status.workers().leaving_size(), 256);
}

}  // namespace
}  // namespace muster::control
