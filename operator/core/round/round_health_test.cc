#include "operator/core/round/round_health.h"

#include <string>
#include <vector>

#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "operator/core/testing/test_world.h"

// Tests how a round breaks when a member fails, and with whom the job goes on.

namespace muster::control {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Worker 2 reports that a peer is gone; the exit of the rank of worker 1 is reported later.
struct LateExit {
  explicit LateExit(const std::string& policy, int min = 1) : world(3) {
    world.view.spec.mutable_failure_policy()->set_on_rank_failure(policy);
    world.view.spec.mutable_workers()->set_min(min);
    world.MakeActive();
    broken = world.memory.id;
    StallReport stall;
    stall.round = broken;
    stall.error = "a peer is gone";
    world.view.agents[2].stalls.push_back(stall);
  }
  void Hear(int index) {
    ExitReport exit;
    exit.round = broken;
    exit.rank = index;
    exit.exit_code = 137;
    exit.signal = 9;
    world.view.agents[index].exits.push_back(exit);
  }
  void GetReady() {
    for (AgentView& agent : world.view.agents) {
      agent.ready = ReadyReport{world.memory.id, std::vector<v1alpha1::RankReady>(1)};
    }
  }
  TestWorld world;
  RoundStamp broken;
};

TEST(RoundHealthTest, AnExitHeardAfterTheStallStillShrinksTheRound) {
  LateExit late("Shrink");
  EXPECT_EQ(OrderTexts(late.world.Decide()), "Prepare:0 Prepare:1 Prepare:2");
  late.Hear(1);
  late.GetReady();  // at the same time: the round must not go
  const Plan plan = late.world.Decide();
  EXPECT_EQ(OrderTexts(plan), "Prepare:0 Prepare:2");
  EXPECT_EQ(EventReasons(plan), "RankFailed");
  EXPECT_EQ(plan.status.round(), late.broken.round + 2);
  EXPECT_EQ(plan.status.failures().count(), 1);
  EXPECT_EQ(plan.status.failures().streak(), 1) << "one failure, one step of the back-off";
  EXPECT_THAT(late.world.Decide().orders, IsEmpty()) << "once";
}

TEST(RoundHealthTest, AnExitHeardBeforeTheStallShrinksTheRound) {
  LateExit late("Shrink");
  late.Hear(1);
  EXPECT_EQ(OrderTexts(late.world.Decide()), "Prepare:0 Prepare:2");
  EXPECT_THAT(late.world.Decide().orders, IsEmpty());
}

TEST(RoundHealthTest, AnExitHeardDuringTheBackOffShrinksTheRound) {
  LateExit late("Shrink");
  late.world.memory.backoff.streak = 3;
  EXPECT_THAT(late.world.Decide().orders, IsEmpty());
  late.Hear(1);
  late.world.Advance(absl::Seconds(1));
  EXPECT_THAT(late.world.Decide().orders, IsEmpty());
  late.world.Advance(absl::Seconds(9));
  EXPECT_EQ(OrderTexts(late.world.Decide()), "Prepare:0 Prepare:2");
}

TEST(RoundHealthTest, TwoExitsHeardOneAfterTheOtherShrinkTwiceAndNotBelowTheMinimum) {
  LateExit late("Shrink", /*min=*/2);
  late.world.Decide();
  late.Hear(1);
  EXPECT_EQ(OrderTexts(late.world.Decide()), "Prepare:0 Prepare:2");
  late.Hear(2);
  EXPECT_THAT(late.world.Decide().orders, IsEmpty()) << "worker 2 is needed";
}

TEST(RoundHealthTest, AnExitHeardAfterTheStallChangesNothingUnderRestartRank) {
  LateExit late("RestartRank");
  EXPECT_EQ(OrderTexts(late.world.Decide()), "Prepare:0 Prepare:1 Prepare:2");
  late.Hear(1);
  EXPECT_THAT(late.world.Decide().orders, IsEmpty());
  EXPECT_EQ(late.world.view.status.failures().count(), 1);
}

TEST(RoundHealthTest, AnExitOfARoundBeforeTheLastActiveOneIsOld) {
  LateExit late("Shrink");
  late.world.Decide();
  late.GetReady();
  late.world.Decide();
  for (AgentView& agent : late.world.view.agents) {
    agent.joined = Joined(late.world.memory);
  }
  late.world.Decide();
  ASSERT_EQ(late.world.memory.phase, RoundPhase::kActive);
  late.Hear(1);
  EXPECT_THAT(late.world.Decide().orders, IsEmpty());
  StallReport stall;
  stall.round = late.world.memory.id;
  late.world.view.agents[2].stalls.push_back(stall);
  EXPECT_EQ(late.world.Decide().reason, "BackingOff");
  late.world.Advance(absl::Seconds(9));
  EXPECT_EQ(OrderTexts(late.world.Decide()), "Prepare:0 Prepare:1 Prepare:2");
}

TEST(RoundHealthTest, AStallOpensTheNextRoundAtOnce) {
  TestWorld world(2);
  world.MakeActive();
  StallReport stall;
  stall.round = world.memory.id;
  stall.error = "all-reduce 12 missed its deadline";
  world.view.agents[1].stalls.push_back(stall);
  const Plan plan = world.Decide();
  EXPECT_EQ(OrderTexts(plan), "Prepare:0 Prepare:1");
  EXPECT_EQ(plan.status.round(), 2);
  EXPECT_EQ(world.Condition(ConditionType::kRunning), "False/RankStalled");
  EXPECT_EQ(plan.status.state(), "Recovering");
  EXPECT_EQ(plan.status.failures().count(), 0);
}

TEST(RoundHealthTest, ALateMemberIsReplacedAndAllLateAreNot) {
  for (bool all : {false, true}) {
    TestWorld world(2);
    world.AddWorkers();
    world.Decide();
    if (!all) {
      world.view.agents[0].ready =
          ReadyReport{world.memory.id, std::vector<v1alpha1::RankReady>(1)};
    }
    world.Advance(world.options.prepare_deadline);
    const Plan plan = world.Decide();
    EXPECT_THAT(EventReasons(plan), HasSubstr("WorkerMissedDeadline"));
    EXPECT_EQ(plan.status.incarnations(0), 1);
    EXPECT_EQ(plan.status.incarnations(1), all ? 1 : 2);
  }
}

TEST(RoundHealthTest, ASilentAgentIsGivenUpAfterTheWindow) {
  TestWorld world(2);
  world.MakeActive();
  world.view.agents[1].attached = false;
  world.view.agents[1].detached_at = world.view.now;
  world.Advance(world.options.unknown_window - absl::Seconds(1));
  EXPECT_EQ(world.Decide().status.incarnations(1), 1);
  world.Advance(absl::Seconds(1));
  const Plan plan = world.Decide();
  EXPECT_EQ(EventReasons(plan), "WorkerLost");
  EXPECT_EQ(plan.status.incarnations(1), 2);
  EXPECT_THAT(plan.orders, IsEmpty()) << "RestartRank holds for the replacement";
}

// Models an operator that was short of CPU, or frozen: agents sent messages that it did not read.
TEST(RoundHealthTest, SilenceCountsOnlyWhileTheOperatorListens) {
  TestWorld world(2);
  world.MakeActive();
  const absl::Time heard = world.view.now;
  world.Advance(3 * world.options.unknown_window);
  for (AgentView& agent : world.view.agents) agent.last_heard = heard;
  world.view.heard_until = heard;
  Plan plan = world.Decide();
  EXPECT_EQ(EventReasons(plan), "");
  EXPECT_EQ(plan.status.incarnations(1), 1);
  EXPECT_GE(plan.requeue_after, absl::Milliseconds(100)) << "it must not look again and again";
  // The first agent's messages are read at last; the other one had sent none.
  world.view.heard_until = world.view.now;
  world.view.agents[0].last_heard = world.view.now;
  plan = world.Decide();
  EXPECT_EQ(EventReasons(plan), "WorkerLost");
  EXPECT_EQ(plan.status.incarnations(0), 1);
  EXPECT_EQ(plan.status.incarnations(1), 2);
}

TEST(RoundHealthTest, SurvivorsGoOnAloneWhenNoReplacementComes) {
  TestWorld world(2);
  world.MakeActive();
  world.view.pods[1].phase = PodPhase::kFailed;
  world.Decide();
  world.Advance(world.options.replacement_wait);
  EXPECT_EQ(OrderTexts(world.Decide()), "Prepare:0");
}

TEST(RoundHealthTest, NeverFewerThanMin) {
  TestWorld world(2);
  world.view.spec.mutable_workers()->set_min(2);
  world.view.spec.mutable_failure_policy()->set_on_rank_failure("Shrink");
  world.MakeActive();
  world.view.pods[1].phase = PodPhase::kFailed;
  world.Advance(absl::Hours(1));
  EXPECT_THAT(world.Decide().orders, IsEmpty());
}

TEST(RoundHealthTest, AWorkerThatJoinedByAnotherSpecDoesNotTrain) {
  for (const std::string theirs : {"fedcba9876543210", ""}) {
    TestWorld world(2);
    world.AddWorkers();
    world.Decide();
    for (AgentView& agent : world.view.agents) {
      agent.ready = ReadyReport{world.memory.id, std::vector<v1alpha1::RankReady>(1)};
    }
    world.Decide();
    const std::string ours = world.memory.trajectory;
    for (AgentView& agent : world.view.agents) {
      agent.joined = Joined(world.memory);
      agent.active = world.memory.id;
    }
    world.view.agents[1].joined->trajectory = theirs;
    const Plan plan = world.Decide();
    EXPECT_EQ(plan.events[0].reason, "JoinFailed");
    EXPECT_EQ(
        plan.events[0].message,
        theirs.empty()
            ? "worker 1 does not report the spec that it trains by; the round trains by spec " +
                  ours
            : "worker 1 trains by spec fedcba9876543210, but the round trains by spec " + ours);
    EXPECT_EQ(plan.status.incarnations(1), theirs.empty() ? 2 : 1)
        << "an agent that cannot be told is made anew";
    EXPECT_EQ(plan.status.incarnations(0), 1);
  }
}

// Each rank has given the number of its worker before the sentence.
TEST(RoundHealthTest, StatesOfWhichNothingTellsTheRightOneHoldTheJobWithASentence) {
  TestWorld world(2);
  world.MakeActive();
  const auto differ = [&] {
    for (AgentView& agent : world.view.agents) {
      agent.ready = ReadyReport{world.memory.id, std::vector<v1alpha1::RankReady>(1)};
    }
    world.Decide();
    const RoundStamp id = world.memory.id;
    world.view.agents[0].joined = JoinedReport{id, "rank 0: a peer is gone", "", {}, ""};
    world.view.agents[1].joined = JoinedReport{id, "rank 1: rank 0 and rank 1 differ", "", {}, ""};
    world.view.agents[1].joined->undecided = true;
    return world.Decide();
  };
  StallReport stall;
  stall.round = world.memory.id;
  world.view.agents[1].stalls.push_back(stall);
  world.Decide();
  EXPECT_THAT(EventReasons(differ()), HasSubstr("StatesDiffer"));
  EXPECT_EQ(world.Condition(ConditionType::kRunning), "False/StatesDiffer");
  world.Advance(absl::Minutes(2));
  world.Decide();
  EXPECT_EQ(EventReasons(differ()), "") << "the owner is asked once";
  EXPECT_EQ(world.Condition(ConditionType::kRunning), "False/StatesDiffer");
}

}  // namespace
}  // namespace muster::control
