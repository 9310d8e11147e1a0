#include "operator/core/round/rounds.h"

#include <functional>
#include <string>
#include <variant>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "operator/core/state/membership.h"
#include "operator/core/state/trajectory.h"
#include "operator/core/testing/test_world.h"

namespace muster::control {
namespace {

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
  EXPECT_EQ(OrderTexts(plan), "Prepare:0 Prepare:1");
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
  EXPECT_EQ(OrderTexts(plan), "Prepare:0 Prepare:1 Prepare:2");
  EXPECT_EQ(EventReasons(plan), "SpecChanged");
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
  EXPECT_EQ(OrderTexts(plan), "Prepare:0 Prepare:1");
  for (const Order& order : plan.orders) {
    const auto& prepare = std::get<PrepareOrder>(order.what);
    EXPECT_EQ(prepare.round.round, before.round.round + 1);
    EXPECT_NE(prepare.trajectory, before.trajectory);
    EXPECT_EQ(prepare.spec->trainer().train().global_batch(), 64);
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
  EXPECT_EQ(OrderTexts(plan), "Go:0 Go:1");
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
  EXPECT_EQ(OrderTexts(world.Decide()), "Prepare:0");
  EXPECT_THAT(world.Decide().orders, IsEmpty());
  world.view.agents[0].ready = ReadyReport{world.memory.id, std::vector<v1alpha1::RankReady>(1)};
  EXPECT_EQ(OrderTexts(world.Decide()), "Go:0");
  world.view.agents[0].session = 3;
  EXPECT_EQ(OrderTexts(world.Decide()), "Go:0");
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

// Adds a copy of a third of step 20.
void AddThird(int shard, google::protobuf::RepeatedPtrField<v1alpha1::StateCopy>& copies) {
  v1alpha1::StateCopy& copy = *copies.Add();
  copy.mutable_version()->set_step(20);
  copy.mutable_version()->set_attempt(1);
  copy.set_history("aa");
  copy.mutable_slice()->set_shard(shard);
  copy.mutable_slice()->set_shards(3);
}

// Two ranks stand where `place` says, by their index. Expects that they read one replica if all
// know of replicas, and that the copies serve for nothing if rank 0 does not: a rank that knows
// nothing of replicas would plan otherwise who sends what.
void ExpectOneReplicaIfAllKnowThem(
    const std::function<void(int index, v1alpha1::RankPosition& position)>& place) {
  for (const bool all : {true, false}) {
    TestWorld world(2);
    world.view.spec.mutable_checkpoint()->set_uri("/checkpoints");
    world.view.status.mutable_checkpoint()->set_history("aa");
    world.AddWorkers();
    world.Decide();
    for (AgentView& agent : world.view.agents) {
      v1alpha1::RankReady rank;
      rank.set_reads_replicas(all || agent.index == 1);
      place(agent.index, *rank.mutable_position());
      agent.seen = world.memory.id;
      agent.ready = ReadyReport{world.memory.id, {rank}};
    }
    const Plan plan = world.Decide();
    ASSERT_EQ(OrderTexts(plan), "Go:0 Go:1");
    const v1alpha1::ResumePoint& resume = std::get<GoOrder>(plan.orders[0].what).go->resume();
    EXPECT_EQ(resume.replicas_size(), all ? 1 : 0);
    EXPECT_EQ(resume.source(), all ? v1alpha1::ResumePoint::MEMORY : v1alpha1::ResumePoint::FRESH);
  }
}

// Rank 0 had come to its half when the round before broke, and has the copy of its third.
TEST(RoundsTest, AnOwnCopyOfAnotherSliceIsReadOnlyIfEveryRankKnowsOfReplicas) {
  ExpectOneReplicaIfAllKnowThem([](int index, v1alpha1::RankPosition& position) {
    AddThird(index == 0 ? 1 : 0, *position.mutable_copies());
    if (index != 0) return;
    *position.mutable_applied() = position.copies(0).version();
    position.set_history("aa");
    position.mutable_slice()->set_shard(1);
    position.mutable_slice()->set_shards(2);
  });
}

TEST(RoundsTest, AReplicaIsReadOnlyIfEveryRankKnowsOfReplicas) {
  ExpectOneReplicaIfAllKnowThem([](int index, v1alpha1::RankPosition& position) {
    AddThird(index, *position.mutable_copies());
    if (index == 1) AddThird(2, *position.mutable_replicas());
  });
}

}  // namespace
}  // namespace muster::control
