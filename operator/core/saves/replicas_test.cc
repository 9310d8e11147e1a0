#include "operator/core/saves/replicas.h"

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "operator/core/testing/spot_fixture.h"
#include "operator/core/testing/test_world.h"

namespace muster::control {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::string EndpointOf(int index) { return "node-" + std::to_string(index) + ":9"; }

// An Active job of three workers whose copies have replicas, and whose agents serve them.
TestWorld ReplicatedWorld() {
  TestWorld world(3);
  v1alpha1::MemoryCheckpointSpec& memory = *world.view.spec.mutable_checkpoint()->mutable_memory();
  memory.set_every_steps(5);
  memory.set_replicas(1);
  world.MakeActive();
  for (AgentView& agent : world.view.agents) agent.replica_endpoint = EndpointOf(agent.index);
  return world;
}

// Returns the keeper in the order to each worker, "0>1"; "0>-" for an order without a keeper.
std::vector<std::string> Keepers(const Plan& plan) {
  std::vector<std::string> keepers;
  for (const Order& order : plan.orders) {
    const auto* replicate = std::get_if<ReplicateOrder>(&order.what);
    if (replicate == nullptr) continue;
    if (replicate->to) EXPECT_EQ(replicate->to->endpoint, EndpointOf(replicate->to->index));
    keepers.push_back(std::to_string(order.index) + ">" +
                      (replicate->to ? std::to_string(replicate->to->index) : "-"));
  }
  return keepers;
}

// The worker is gone, and a new incarnation of it has attached.
void Replace(TestWorld& world, int index) {
  world.view.agents[index].attached = false;
  world.view.pods[index].phase = PodPhase::kFailed;
  for (int i = 0; i < 5 && world.view.status.incarnations(index) == 1; ++i) {
    world.Decide();
    world.Advance(absl::Seconds(5));
  }
  ASSERT_EQ(world.view.status.incarnations(index), 2);
  world.view.pods.erase(world.view.pods.begin() + index);
  world.view.agents.erase(world.view.agents.begin() + index);
  world.AddPod(index);
  world.AddAgent(index);
}

TEST(KeepReplicasTest, EachMemberOfAnActiveRoundIsToldItsKeeperOnce) {
  TestWorld world = ReplicatedWorld();
  EXPECT_THAT(Keepers(world.Decide()), ElementsAre("0>1", "1>2", "2>0"));
  EXPECT_THAT(world.Decide().orders, IsEmpty());
}

TEST(KeepReplicasTest, AnAgentThatServesNoneIsAwaitedForTenSecondsAndPassedOver) {
  TestWorld world = ReplicatedWorld();
  world.view.agents[1].replica_endpoint.clear();
  EXPECT_THAT(Keepers(world.Decide()), IsEmpty());
  world.Advance(absl::Seconds(10));
  EXPECT_THAT(Keepers(world.Decide()), ElementsAre("0>2", "1>-", "2>0"));
}

TEST(KeepReplicasTest, ANewStreamAndANewLeaderAreToldAgain) {
  TestWorld world = ReplicatedWorld();
  world.Decide();
  ++world.view.agents[1].session;
  world.view.agents[1].active = world.memory.id;  // as its new hello says
  EXPECT_THAT(Keepers(world.Decide()), ElementsAre("1>2"));
  ChangeLeaders(world);
  EXPECT_THAT(Keepers(world.Decide()), ElementsAre("0>1", "1>2", "2>0"));
}

TEST(KeepReplicasTest, AnAgentThatIsAwayForAMomentChangesNoKeeper) {
  TestWorld world = ReplicatedWorld();
  world.Decide();
  world.view.agents[2].attached = false;
  world.view.agents[2].detached_at = world.view.now;
  EXPECT_THAT(Keepers(world.Decide()), IsEmpty());
}

TEST(KeepReplicasTest, WithoutReplicasNobodyIsTold) {
  TestWorld world = ReplicatedWorld();
  world.view.spec.mutable_checkpoint()->mutable_memory()->set_replicas(0);
  world.memory.spec.reset();
  EXPECT_THAT(Keepers(world.Decide()), IsEmpty());
}

TEST(KeepReplicasTest, ReplicasThatAreTurnedOffEnd) {
  TestWorld world = ReplicatedWorld();
  world.Decide();
  world.view.spec.mutable_checkpoint()->mutable_memory()->set_replicas(0);
  world.memory.spec.reset();
  EXPECT_THAT(Keepers(world.Decide()), ElementsAre("0>-", "1>-", "2>-"));
}

TEST(ReplicasOfTest, TheReplacementOfALostWorkerIsToldWhereItsReplicasAre) {
  TestWorld world = ReplicatedWorld();
  world.Decide();
  world.view.agents[2].replicas_of = {1};
  world.view.agents[0].replicas_of = {2};
  ASSERT_NO_FATAL_FAILURE(Replace(world, 1));
  Plan plan = world.Decide();
  for (int i = 0; i < 20 && OrderTexts(plan).empty(); ++i) {
    world.Advance(absl::Seconds(5));
    for (AgentView& agent : world.view.agents) agent.last_heard = world.view.now;
    plan = world.Decide();
  }
  std::optional<PrepareOrder> prepare;
  for (const Order& order : plan.orders) {
    if (order.index == 1) prepare = std::get<PrepareOrder>(order.what);
  }
  ASSERT_TRUE(prepare) << OrderTexts(plan) << ": " << plan.sentence;
  EXPECT_THAT(prepare->replicas_at, ElementsAre(ReplicaSite{2, EndpointOf(2)}));
}

}  // namespace
}  // namespace muster::control
