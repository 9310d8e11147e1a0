#include "operator/core/saves/disk_copies.h"

#include <limits>
#include <string>
#include <variant>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "operator/core/testing/test_world.h"

namespace muster::control {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// A job of two workers with copies on disk, whose agents have said what they found there.
TestWorld DiskWorld() {
  TestWorld world;
  v1alpha1::MemoryCheckpointSpec& memory = *world.view.spec.mutable_checkpoint()->mutable_memory();
  memory.mutable_disk()->set_path("/copies");
  memory.mutable_disk()->set_every("30s");
  return world;
}

void LetAgentsSay(TestWorld& world) {
  for (AgentView& agent : world.view.agents) agent.replica_endpoint = "node:9";
}

TestWorld ActiveWorld() {
  TestWorld world = DiskWorld();
  world.AddWorkers();
  LetAgentsSay(world);
  world.Decide();
  world.JoinRound();
  world.Decide();
  return world;
}

void Commit(TestWorld& world, int64_t step, double steps_per_second) {
  world.view.progress.latest.emplace().mutable_version()->set_step(step);
  world.view.progress.steps_per_second = steps_per_second;
}

// Returns the orders to keep copies, "0:21".
std::vector<std::string> Orders(const Plan& plan) {
  std::vector<std::string> orders;
  for (const Order& order : plan.orders) {
    const auto* disk = std::get_if<DiskOrder>(&order.what);
    if (disk != nullptr) {
      orders.push_back(std::to_string(order.index) + ":" + std::to_string(disk->from_step));
    }
  }
  return orders;
}

TEST(DiskStepAfterTest, IsAheadByWhatAnOrderNeedsToArrive) {
  EXPECT_EQ(DiskStepAfter(10, 0), 11);
  EXPECT_EQ(DiskStepAfter(10, 0.3), 11);
  EXPECT_EQ(DiskStepAfter(10, 5), 21);
  EXPECT_EQ(DiskStepAfter(10, std::numeric_limits<double>::quiet_NaN()), 11);
  EXPECT_EQ(DiskStepAfter(0, std::numeric_limits<double>::infinity()), 1'000'000'001);
}

TEST(KeepCopiesOnDiskTest, AllMembersAreToldOneStepWheneverTheIntervalIsOver) {
  TestWorld world = ActiveWorld();
  Commit(world, 10, 5);
  EXPECT_THAT(Orders(world.Decide()), IsEmpty());
  world.Advance(absl::Seconds(30));
  EXPECT_THAT(Orders(world.Decide()), ElementsAre("0:21", "1:21"));
  EXPECT_THAT(Orders(world.Decide()), IsEmpty());
  world.Advance(absl::Seconds(29));
  EXPECT_THAT(Orders(world.Decide()), IsEmpty());
  Commit(world, 80, 5);
  world.Advance(absl::Seconds(1));
  EXPECT_THAT(Orders(world.Decide()), ElementsAre("0:91", "1:91"));
}

TEST(KeepCopiesOnDiskTest, WorkersWithoutACopyAfterThreeIntervalsAreNamedOnce) {
  TestWorld world = ActiveWorld();
  world.view.agents[0].replicas_of = {0, 1};
  Commit(world, 10, 5);
  std::vector<std::string> said;
  for (int order = 0; order < 6; ++order) {
    world.Advance(absl::Seconds(30));
    for (const Event& event : world.Decide().events) said.push_back(event.message);
    EXPECT_EQ(said.size(), order < 2 ? 0u : 1u) << order;
  }
  EXPECT_THAT(said, ElementsAre("worker 1 has no copy on disk after 3 intervals of "
                                "checkpoint.memory.disk: either none was made in memory, or the "
                                "agent's log says why it was skipped; training goes on"));
}

TEST(KeepCopiesOnDiskTest, NobodyIsWarnedWhereAllHaveTheirCopies) {
  TestWorld world = ActiveWorld();
  for (AgentView& agent : world.view.agents) agent.replicas_of = {agent.index};
  Commit(world, 10, 5);
  for (int order = 0; order < 6; ++order) {
    world.Advance(absl::Seconds(30));
    EXPECT_THAT(EventReasons(world.Decide()), IsEmpty());
  }
}

TEST(KeepCopiesOnDiskTest, AJobWithoutADiskHasNone) {
  TestWorld world = ActiveWorld();
  world.view.spec.mutable_checkpoint()->mutable_memory()->clear_disk();
  world.memory.spec.reset();
  Commit(world, 10, 5);
  world.Advance(absl::Minutes(5));
  EXPECT_THAT(Orders(world.Decide()), IsEmpty());
}

TEST(DisksKnownByTest, ARoundWaitsUntilItsWorkersHaveLookedAtTheirDisks) {
  TestWorld world = DiskWorld();
  world.AddWorkers();
  Plan plan = world.Decide();
  EXPECT_EQ(OrderTexts(plan), "");
  EXPECT_EQ(plan.sentence, "workers look for copies on their nodes' disks");
  world.view.agents[0].replica_endpoint = "node:9";
  world.view.agents[0].replicas_of = {1};
  EXPECT_EQ(OrderTexts(world.Decide()), "");
  world.view.agents[1].replica_endpoint = "node:10";
  plan = world.Decide();
  EXPECT_EQ(OrderTexts(plan), "Prepare:0 Prepare:1");
  EXPECT_THAT(std::get<PrepareOrder>(plan.orders[1].what).replicas_at,
              ElementsAre(ReplicaSite{0, "node:9"}));
}

TEST(DisksKnownByTest, AnAgentThatDoesNotSayIsWaitedForTenSecondsAlone) {
  TestWorld world = DiskWorld();
  world.AddWorkers();
  world.Decide();
  world.Advance(absl::Seconds(10));
  EXPECT_EQ(OrderTexts(world.Decide()), "Prepare:0 Prepare:1");
}

}  // namespace
}  // namespace muster::control
