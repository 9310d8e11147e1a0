#include "operator/core/rounds.h"

#include <string>
#include <variant>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "operator/core/membership.h"
#include "operator/core/testing/test_world.h"
#include "operator/core/trajectory.h"

namespace muster::control {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(RoundsTest, TheFirstRoundWaitsForEveryWorker) {
  TestWorld world(2);
  world.AddPod(0);
  world.AddPod(1);
  world.AddAgent(0);
  world.Advance(absl::Hours(1));
  EXPECT_THAT(world.Decide().orders, IsEmpty());
  world.AddAgent(1);
  const Plan plan = world.Decide();
  EXPECT_EQ(Ordered(plan), "Prepare:0 Prepare:1");
}

TEST(RoundsTest, ARoundIsRecordedInThePlanThatOrdersIt) {
  TestWorld world(2);
  world.AddWorkers();
  const Plan plan = world.Decide();
  const auto& prepare = std::get<PrepareOrder>(plan.orders[0].what);
  EXPECT_TRUE(plan.write_status);
  EXPECT_EQ(plan.status.term(), prepare.round.term);
  EXPECT_EQ(plan.status.round(), prepare.round.round);
  EXPECT_EQ(plan.status.membership(), prepare.membership);
  EXPECT_EQ(prepare.membership, RoundMembership(plan.memory.members, prepare.trajectory));
  EXPECT_EQ(prepare.membership, "703a9e7a71f7573c.45fe395741923890d2c01b55883c7cd1")
      << "compared after an upgrade";
  EXPECT_EQ(TrajectoryOf(prepare.membership), prepare.trajectory);
  EXPECT_EQ(prepare.trajectory, TrajectoryDigest(world.view.spec));
}

TEST(RoundsTest, AChangedSpecReachesAllRanksInOneNewRound) {
  TestWorld world(3);
  world.MakeActive();
  world.view.spec.mutable_trainer()->mutable_optimizer()->set_learning_rate(0.5);
  const Plan plan = world.Decide();
  EXPECT_EQ(Ordered(plan), "Prepare:0 Prepare:1 Prepare:2");
  EXPECT_EQ(Told(plan), "SpecChanged");
  EXPECT_EQ(plan.status.round(), 2);
  EXPECT_EQ(plan.status.failures().streak(), 0) << "no failure, no back-off";
  EXPECT_EQ(world.Condition(ConditionType::kRunning), "False/SpecChanged");
  for (const Order& order : plan.orders) {
    const auto& prepare = std::get<PrepareOrder>(order.what);
    EXPECT_EQ(prepare.spec->trainer().optimizer().learning_rate(), 0.5);
    EXPECT_EQ(prepare.trajectory, TrajectoryDigest(world.view.spec));
    EXPECT_FALSE(prepare.fresh) << "ranks go on from where they are";
  }
}

TEST(RoundsTest, AChangeThatDoesNotShapeTrainingOpensNoRound) {
  TestWorld world(2);
  world.MakeActive();
  world.view.spec.mutable_checkpoint()->set_keep(7);
  world.view.spec.mutable_failure_policy()->set_max_failures(3);
  world.view.spec.set_active_deadline("12h");
  EXPECT_THAT(world.Decide().orders, IsEmpty());
}

TEST(RoundsTest, ASpecThatChangesWhileARoundIsPreparedOpensTheNextAndIsNotSentInThatOne) {
  TestWorld world(2);
  world.AddWorkers();
  const Plan first = world.Decide();
  const auto& before = std::get<PrepareOrder>(first.orders[0].what);
  // The stream of worker 0 is also new, so its order is sent again.
  world.view.agents[0].session = 2;
  world.view.spec.mutable_trainer()->mutable_train()->set_global_batch(64);
  const Plan plan = world.Decide();
  EXPECT_EQ(Ordered(plan), "Prepare:0 Prepare:1");
  for (const Order& order : plan.orders) {
    const auto& prepare = std::get<PrepareOrder>(order.what);
    EXPECT_EQ(prepare.round.round, before.round.round + 1);
    EXPECT_NE(prepare.trajectory, before.trajectory);
    EXPECT_EQ(prepare.spec->trainer().train().global_batch(), 64);
  }
}

TEST(RoundsTest, ANewLeaderKnowsByWhichSpecTheRecordedRoundTrains) {
  for (const bool changed : {false, true}) {
    TestWorld world(2);
    world.MakeActive();
    for (AgentView& agent : world.view.agents) agent.active = world.memory.id;
    world.memory = RoundMemory();
    world.view.leader_term = 5;
    if (changed) world.view.spec.mutable_trainer()->mutable_train()->set_steps(7000);
    const Plan plan = world.Decide();
    EXPECT_EQ(Told(plan), changed ? "RoundAdopted SpecChanged" : "RoundAdopted");
    EXPECT_EQ(Ordered(plan), changed ? "Prepare:0 Prepare:1" : "");
  }
}

TEST(RoundsTest, AWorkerThatJoinedByAnotherSpecDoesNotTrain) {
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
    EXPECT_EQ(plan.events[0].message,
              theirs.empty() ? "worker 1 trains by a spec it does not name, the round by " + ours
                             : "worker 1 trains by spec fedcba9876543210, the round by " + ours);
    EXPECT_EQ(plan.status.incarnations(1), theirs.empty() ? 2 : 1)
        << "an agent that cannot be told is made anew";
    EXPECT_EQ(plan.status.incarnations(0), 1);
  }
}

TEST(RoundsTest, AMemberIsToldItsOwnPlaceOnly) {
  TestWorld world(3);
  world.AddWorkers();
  const Plan plan = world.Decide();
  ASSERT_EQ(plan.orders.size(), 3u);
  for (int i = 0; i < 3; ++i) {
    const MemberPlace& place = std::get<PrepareOrder>(plan.orders[i].what).place;
    EXPECT_EQ(place.member.worker().index(), i);
    EXPECT_EQ(place.member.worker().pod_uid(), plan.orders[i].pod_uid);
    EXPECT_EQ(place.member.first_rank(), i);
    EXPECT_EQ(place.world_size, 3);
    EXPECT_EQ(place.group_rank, i);
    EXPECT_EQ(place.group_world_size, 3);
  }
}

TEST(RoundsTest, GoComesWhenAllAreReadyAndNeedsNoWrite) {
  TestWorld world(2);
  world.AddWorkers();
  world.Decide();
  v1alpha1::RankReady rank;
  rank.set_endpoint("host:29500");
  rank.mutable_position()->mutable_applied()->set_step(7);
  world.view.agents[0].ready = ReadyReport{world.memory.id, {rank}};
  EXPECT_THAT(world.Decide().orders, IsEmpty());
  world.view.agents[1].ready = ReadyReport{world.memory.id, {v1alpha1::RankReady()}};
  const Plan plan = world.Decide();
  EXPECT_EQ(Ordered(plan), "Go:0 Go:1");
  EXPECT_FALSE(plan.write_status);
  const v1alpha1::GoRound& go = *std::get<GoOrder>(plan.orders[0].what).go;
  EXPECT_EQ(std::get<GoOrder>(plan.orders[1].what).go.get(), &go) << "one for all";
  EXPECT_EQ(go.endpoint(), "host:29500");
  EXPECT_EQ(go.resume().version().step(), 7);
  EXPECT_EQ(go.resume().receivers(0), 1);
  EXPECT_EQ(go.resume().next_attempt(), 1);
}

TEST(RoundsTest, AnswersOfAnotherRoundAreIgnored) {
  TestWorld world(1);
  world.AddWorkers();
  world.Decide();
  world.view.agents[0].ready = ReadyReport{{1, 99}, std::vector<v1alpha1::RankReady>(1)};
  EXPECT_THAT(world.Decide().orders, IsEmpty());
  world.view.agents[0].ready = ReadyReport{world.memory.id, std::vector<v1alpha1::RankReady>(3)};
  EXPECT_THAT(world.Decide().orders, IsEmpty()) << "three answers of one rank";
}

TEST(RoundsTest, OrdersAreSentAgainOnANewStream) {
  TestWorld world(1);
  world.AddWorkers();
  world.Decide();
  EXPECT_THAT(world.Decide().orders, IsEmpty());
  world.view.agents[0].session = 2;
  EXPECT_EQ(Ordered(world.Decide()), "Prepare:0");
  EXPECT_THAT(world.Decide().orders, IsEmpty());
  world.view.agents[0].ready = ReadyReport{world.memory.id, std::vector<v1alpha1::RankReady>(1)};
  EXPECT_EQ(Ordered(world.Decide()), "Go:0");
  world.view.agents[0].session = 3;
  EXPECT_EQ(Ordered(world.Decide()), "Go:0");
  world.view.agents[0].session = 4;
  world.view.agents[0].active = world.memory.id;
  EXPECT_THAT(world.Decide().orders, IsEmpty()) << "its hello says that it joined";
  EXPECT_EQ(world.memory.phase, RoundPhase::kActive);
}

TEST(RoundsTest, AnIdleWorldPlansNothing) {
  TestWorld world(2);
  world.MakeActive();
  EXPECT_EQ(world.Condition(ConditionType::kRunning), "True/RoundActive");
  EXPECT_EQ(world.view.status.state(), "Training");
  const Plan plan = world.Decide();
  EXPECT_FALSE(plan.write_status);
  EXPECT_THAT(plan.orders, IsEmpty());
  EXPECT_THAT(plan.creates, IsEmpty());
  EXPECT_THAT(plan.events, IsEmpty());
}

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

TEST(RoundsTest, AnExitHeardAfterTheStallStillShrinksTheRound) {
  LateExit late("Shrink");
  EXPECT_EQ(Ordered(late.world.Decide()), "Prepare:0 Prepare:1 Prepare:2");
  late.Hear(1);
  late.GetReady();  // at the same time: the round must not go
  const Plan plan = late.world.Decide();
  EXPECT_EQ(Ordered(plan), "Prepare:0 Prepare:2");
  EXPECT_EQ(Told(plan), "RankFailed");
  EXPECT_EQ(plan.status.round(), late.broken.round + 2);
  EXPECT_EQ(plan.status.failures().count(), 1);
  EXPECT_EQ(plan.status.failures().streak(), 1) << "one failure, one step of the back-off";
  EXPECT_THAT(late.world.Decide().orders, IsEmpty()) << "once";
}

TEST(RoundsTest, AnExitHeardBeforeTheStallShrinksTheRound) {
  LateExit late("Shrink");
  late.Hear(1);
  EXPECT_EQ(Ordered(late.world.Decide()), "Prepare:0 Prepare:2");
  EXPECT_THAT(late.world.Decide().orders, IsEmpty());
}

TEST(RoundsTest, AnExitHeardDuringTheBackOffShrinksTheRound) {
  LateExit late("Shrink");
  late.world.memory.backoff.streak = 3;
  EXPECT_THAT(late.world.Decide().orders, IsEmpty());
  late.Hear(1);
  late.world.Advance(absl::Seconds(1));
  EXPECT_THAT(late.world.Decide().orders, IsEmpty());
  late.world.Advance(absl::Seconds(9));
  EXPECT_EQ(Ordered(late.world.Decide()), "Prepare:0 Prepare:2");
}

TEST(RoundsTest, TwoExitsHeardOneAfterTheOtherShrinkTwiceAndNotBelowTheMinimum) {
  LateExit late("Shrink", /*min=*/2);
  late.world.Decide();
  late.Hear(1);
  EXPECT_EQ(Ordered(late.world.Decide()), "Prepare:0 Prepare:2");
  late.Hear(2);
  EXPECT_THAT(late.world.Decide().orders, IsEmpty()) << "worker 2 is needed";
}

TEST(RoundsTest, AnExitHeardAfterTheStallChangesNothingUnderRestartRank) {
  LateExit late("RestartRank");
  EXPECT_EQ(Ordered(late.world.Decide()), "Prepare:0 Prepare:1 Prepare:2");
  late.Hear(1);
  EXPECT_THAT(late.world.Decide().orders, IsEmpty());
  EXPECT_EQ(late.world.view.status.failures().count(), 1);
}

TEST(RoundsTest, AnExitOfARoundBeforeTheLastActiveOneIsOld) {
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
  EXPECT_EQ(Ordered(late.world.Decide()), "Prepare:0 Prepare:1 Prepare:2");
}

TEST(RoundsTest, AStallOpensTheNextRoundAtOnce) {
  TestWorld world(2);
  world.MakeActive();
  StallReport stall;
  stall.round = world.memory.id;
  stall.error = "all-reduce 12 missed its deadline";
  world.view.agents[1].stalls.push_back(stall);
  const Plan plan = world.Decide();
  EXPECT_EQ(Ordered(plan), "Prepare:0 Prepare:1");
  EXPECT_EQ(plan.status.round(), 2);
  EXPECT_EQ(world.Condition(ConditionType::kRunning), "False/RankStalled");
  EXPECT_EQ(plan.status.state(), "Recovering");
  EXPECT_EQ(plan.status.failures().count(), 0);
}

TEST(RoundsTest, ALateMemberIsReplacedAndAllLateAreNot) {
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
    EXPECT_THAT(Told(plan), HasSubstr("WorkerMissedDeadline"));
    EXPECT_EQ(plan.status.incarnations(0), 1);
    EXPECT_EQ(plan.status.incarnations(1), all ? 1 : 2);
  }
}

TEST(RoundsTest, ASilentAgentIsGivenUpAfterTheWindow) {
  TestWorld world(2);
  world.MakeActive();
  world.view.agents[1].attached = false;
  world.view.agents[1].detached_at = world.view.now;
  world.Advance(world.options.unknown_window - absl::Seconds(1));
  EXPECT_EQ(world.Decide().status.incarnations(1), 1);
  world.Advance(absl::Seconds(1));
  const Plan plan = world.Decide();
  EXPECT_EQ(Told(plan), "WorkerLost");
  EXPECT_EQ(plan.status.incarnations(1), 2);
  EXPECT_THAT(plan.orders, IsEmpty()) << "RestartRank holds for the replacement";
}

// Models an operator that was short of CPU, or frozen: agents sent messages that nobody read.
TEST(RoundsTest, SilenceCountsOnlyWhileTheOperatorListens) {
  TestWorld world(2);
  world.MakeActive();
  const absl::Time heard = world.view.now;
  world.Advance(3 * world.options.unknown_window);
  for (AgentView& agent : world.view.agents) agent.last_heard = heard;
  world.view.heard_until = heard;
  Plan plan = world.Decide();
  EXPECT_EQ(Told(plan), "");
  EXPECT_EQ(plan.status.incarnations(1), 1);
  EXPECT_GE(plan.requeue_after, absl::Milliseconds(100)) << "it must not look again and again";
  // The first agent's messages are read at last; the other one had sent none.
  world.view.heard_until = world.view.now;
  world.view.agents[0].last_heard = world.view.now;
  plan = world.Decide();
  EXPECT_EQ(Told(plan), "WorkerLost");
  EXPECT_EQ(plan.status.incarnations(0), 1);
  EXPECT_EQ(plan.status.incarnations(1), 2);
}

TEST(RoundsTest, SurvivorsGoOnAloneWhenNoReplacementComes) {
  TestWorld world(2);
  world.MakeActive();
  world.view.pods[1].phase = PodPhase::kFailed;
  world.Decide();
  world.Advance(world.options.replacement_wait);
  EXPECT_EQ(Ordered(world.Decide()), "Prepare:0");
}

TEST(RoundsTest, NeverFewerThanMin) {
  TestWorld world(2);
  world.view.spec.mutable_workers()->set_min(2);
  world.view.spec.mutable_failure_policy()->set_on_rank_failure("Shrink");
  world.MakeActive();
  world.view.pods[1].phase = PodPhase::kFailed;
  world.Advance(absl::Hours(1));
  EXPECT_THAT(world.Decide().orders, IsEmpty());
}

TEST(RoundsTest, AViewOlderThanTheLastWriteChangesNothing) {
  TestWorld world(1);
  world.AddWorkers();
  const v1alpha1::TrainingJobStatus before = world.view.status;
  world.Decide();
  world.view.status = before;
  const Plan plan = world.Decide();
  EXPECT_FALSE(plan.write_status);
  EXPECT_THAT(plan.orders, IsEmpty());
  EXPECT_TRUE(plan.requeue_after.has_value());
}

TEST(RoundsTest, AStaleLeaderDoesNothing) {
  TestWorld world(1);
  world.AddWorkers();
  world.view.status.set_term(2);
  const Plan plan = world.Decide();
  EXPECT_EQ(plan.reason, "StaleLeader");
  EXPECT_FALSE(plan.write_status);
  EXPECT_THAT(plan.orders, IsEmpty());
}

TEST(RoundsTest, ARoundIsAdoptedByItsNumberUnderARaisedTerm) {
  TestWorld world(2);
  world.MakeActive();
  for (AgentView& agent : world.view.agents) agent.active = world.memory.id;
  world.memory = RoundMemory();
  world.view.leader_term = 5;
  const Plan plan = world.Decide();
  EXPECT_EQ(Told(plan), "RoundAdopted");
  EXPECT_THAT(plan.orders, IsEmpty());
  EXPECT_EQ(plan.status.term(), 5);
  EXPECT_EQ(plan.status.round(), 1);
}

TEST(RoundsTest, HiddenCheckpointsHoldTheJobInsteadOfStartingOver) {
  TestWorld world(2);
  world.AddWorkers();
  world.Decide();
  v1alpha1::RankReady sees;
  sees.mutable_position()->add_checkpoints()->set_directory("step-000000010");
  world.view.agents[0].ready = ReadyReport{world.memory.id, {sees}};
  world.view.agents[1].ready = ReadyReport{world.memory.id, {v1alpha1::RankReady()}};
  world.Decide();
  EXPECT_EQ(world.Condition(ConditionType::kRunning), "False/CheckpointHidden");
}

}  // namespace
}  // namespace muster::control
