#include "operator/core/saves/save_interval.h"

#include <cmath>
#include <cstdint>
#include <string>

#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "operator/core/testing/test_world.h"

namespace muster::control {
namespace {

using ::testing::IsEmpty;

constexpr absl::Duration kMinute = absl::Minutes(1), kHour = absl::Hours(1);

TEST(SaveIntervalTest, OneFailureIsAssumedAtTheRateOfLargeClusters) {
  // 1,000 nodes fail 6.5 times a day.
  EXPECT_NEAR(absl::ToDoubleHours(MeanTimeBetweenFailures({.workers = 1000})), 24 / 6.5, 1e-6);
  EXPECT_NEAR(absl::ToDoubleHours(MeanTimeBetweenFailures({.workers = 10})), 2400 / 6.5, 1e-6);
}

TEST(SaveIntervalTest, TheJobsOwnFailuresSoonOutweighTheAssumption) {
  const SaveCosts spot{.observed = absl::Hours(10), .failures = 40, .workers = 1000};
  EXPECT_NEAR(absl::ToDoubleHours(MeanTimeBetweenFailures(spot)), (10 + 24 / 6.5) / 41, 1e-6);
}

TEST(SaveIntervalTest, TheIntervalIsYoungAndDalys) {
  // The mean time between failures is 24 h / 6.5; the numbers of docs and papers are of this kind.
  const SaveCosts costs{.stall = absl::Seconds(2), .workers = 1000};
  const double expected = std::sqrt(2 * 2.0 * 24 * 3600 / 6.5);
  EXPECT_NEAR(absl::ToDoubleSeconds(SaveInterval(costs, kMinute, kHour)), expected, 1e-3);
  SaveCosts cheap = costs, reliable = costs;
  cheap.stall /= 4;
  EXPECT_NEAR(absl::ToDoubleSeconds(SaveInterval(cheap, kMinute, kHour)), expected / 2, 1e-3);
  reliable.workers = 250;
  EXPECT_NEAR(absl::ToDoubleSeconds(SaveInterval(reliable, kMinute, kHour)), expected * 2, 1e-3);
}

TEST(SaveIntervalTest, BoundsAndASlowStorageLimitIt) {
  SaveCosts costs{.stall = absl::Milliseconds(1), .workers = 1000};
  EXPECT_EQ(SaveInterval(costs, kMinute, kHour), kMinute);
  costs.write = absl::Minutes(3);
  EXPECT_EQ(SaveInterval(costs, kMinute, kHour), absl::Minutes(6));
  costs.write = absl::Hours(3);
  EXPECT_EQ(SaveInterval(costs, kMinute, kHour), kHour) << "the owner's bound wins";
  costs = {.stall = absl::Minutes(10), .workers = 1};
  EXPECT_EQ(SaveInterval(costs, kMinute, kHour), kHour);
  EXPECT_EQ(SaveInterval({}, kMinute, kHour), kMinute) << "the first save measures";
  EXPECT_EQ(SaveInterval({}, 2 * kHour, kHour), kHour);
}

TestWorld WorldOf(const v1alpha1::CheckpointInterval& interval) {
  TestWorld world(2);
  world.view.spec.mutable_checkpoint()->set_uri("/checkpoints");
  *world.view.spec.mutable_checkpoint()->mutable_interval() = interval;
  world.MakeActive();
  world.Decide();
  return world;
}

TestWorld AutoWorld() {
  v1alpha1::CheckpointInterval interval;
  interval.set_mode("Auto");
  return WorldOf(interval);
}

TestWorld StepsWorld() {
  v1alpha1::CheckpointInterval interval;
  interval.set_mode("Steps");
  interval.set_steps(10);
  return WorldOf(interval);
}

void Write(TestWorld& world, int64_t step, double stall) {
  v1alpha1::CheckpointReport written;
  written.set_phase(v1alpha1::CheckpointReport::WRITTEN);
  written.mutable_version()->set_step(step);
  written.mutable_version()->set_attempt(1);
  written.set_directory("step-000000001");
  written.set_seconds(1.0);
  written.set_stall_seconds(stall);
  world.view.checkpoint.written = written;
}

std::string OrdersAfter(TestWorld& world, absl::Duration wait) {
  world.Advance(wait);
  const Plan plan = world.Decide();
  world.view.status = plan.status;
  return OrderTexts(plan);
}

TEST(SaveIntervalTest, TheFirstSaveComesAfterTheShortestIntervalAndIsOrderedOnce) {
  TestWorld world = AutoWorld();
  EXPECT_THAT(OrdersAfter(world, absl::Seconds(59)), IsEmpty());
  EXPECT_EQ(OrdersAfter(world, absl::Seconds(1)), "Save:0 Save:1");
  EXPECT_THAT(OrdersAfter(world, absl::Seconds(1)), IsEmpty());
  EXPECT_EQ(world.view.status.checkpoint().interval(), "1m");
}

TEST(SaveIntervalTest, LaterSavesFollowTheMeasuredCost) {
  TestWorld world = AutoWorld();
  EXPECT_EQ(OrdersAfter(world, kMinute), "Save:0 Save:1");
  Write(world, 10, 1e-4);
  EXPECT_THAT(OrdersAfter(world, absl::Seconds(1)), IsEmpty());
  // Two workers fail every 77 days: sqrt(2 * 0.1 ms * 77 days) = 36 s, below the shortest.
  EXPECT_EQ(OrdersAfter(world, kMinute), "Save:0 Save:1");
  Write(world, 20, 0.01);
  world.Decide();
  EXPECT_THAT(OrdersAfter(world, kMinute), IsEmpty()) << "6 minutes now";
  EXPECT_EQ(OrdersAfter(world, absl::Minutes(6)), "Save:0 Save:1");
}

TEST(SaveIntervalTest, MinAndMaxOfTheSpecAreTheBounds) {
  v1alpha1::CheckpointInterval interval;
  interval.set_mode("Auto");
  interval.set_min("10s");
  interval.set_max("20s");
  TestWorld world = WorldOf(interval);
  EXPECT_THAT(OrdersAfter(world, absl::Seconds(9)), IsEmpty());
  EXPECT_EQ(OrdersAfter(world, absl::Seconds(1)), "Save:0 Save:1");
  Write(world, 10, 5.0);
  world.Decide();
  EXPECT_THAT(OrdersAfter(world, absl::Seconds(19)), IsEmpty());
  EXPECT_EQ(OrdersAfter(world, absl::Seconds(1)), "Save:0 Save:1");
}

TEST(SaveIntervalTest, AFailedSaveIsOrderedAgainAfterTheNextInterval) {
  TestWorld world = AutoWorld();
  EXPECT_EQ(OrdersAfter(world, kMinute), "Save:0 Save:1");
  EXPECT_THAT(OrdersAfter(world, absl::Seconds(59)), IsEmpty());
  EXPECT_EQ(OrdersAfter(world, absl::Seconds(1)), "Save:0 Save:1");
}

TEST(SaveIntervalTest, ANewLeaderCountsFromTheCheckpointInTheStatus) {
  TestWorld world = AutoWorld();
  OrdersAfter(world, kMinute);
  Write(world, 10, 0.01);
  OrdersAfter(world, absl::Seconds(1));
  for (AgentView& agent : world.view.agents) agent.active = agent.seen = world.memory.id;
  world.memory = RoundMemory{};
  ++world.view.leader_term;
  world.view.leading_since = world.view.now;
  world.view.checkpoint = {};  // the cost is not known any more
  EXPECT_THAT(OrdersAfter(world, absl::Seconds(58)), IsEmpty());
  EXPECT_EQ(world.memory.phase, RoundPhase::kActive);
  EXPECT_EQ(OrdersAfter(world, absl::Seconds(3)), "Save:0 Save:1");
}

void Begin(TestWorld& world, int64_t attempt) {
  v1alpha1::CheckpointReport begun;
  begun.set_phase(v1alpha1::CheckpointReport::STARTED);
  begun.mutable_version()->set_step(10);
  begun.mutable_version()->set_attempt(attempt);
  world.view.checkpoint.begun = begun;
}

TEST(SaveIntervalTest, ASaveThatIsDueWaitsForTheJobsTurnAtItsStorage) {
  TestWorld world = AutoWorld();
  world.view.may_save = false;
  world.Advance(absl::Seconds(59));
  EXPECT_EQ(world.Decide().save_turn, SaveTurn::kNone);
  world.Advance(absl::Seconds(1));
  Plan plan = world.Decide();
  EXPECT_EQ(plan.save_turn, SaveTurn::kWanted);
  EXPECT_THAT(OrderTexts(plan), IsEmpty());
  world.view.may_save = true;
  plan = world.Decide();
  EXPECT_EQ(OrderTexts(plan), "Save:0 Save:1");
  EXPECT_EQ(plan.save_turn, SaveTurn::kTaken);
  world.view.may_save = false;
  EXPECT_EQ(world.Decide().save_turn, SaveTurn::kTaken) << "the save has not begun yet";
}

TEST(SaveIntervalTest, TheTurnEndsWithTheSaveOrIfNoneBegins) {
  TestWorld world = AutoWorld();
  OrdersAfter(world, kMinute);
  Begin(world, world.memory.id.round);
  EXPECT_EQ(world.Decide().save_turn, SaveTurn::kTaken);
  world.Advance(absl::Seconds(1));
  world.view.checkpoint.begun.reset();
  EXPECT_EQ(world.Decide().save_turn, SaveTurn::kNone);

  OrdersAfter(world, kMinute);
  Write(world, 20, 0.01);
  world.Advance(absl::Seconds(1));
  world.view.status = world.Decide().status;
  EXPECT_EQ(world.Decide().save_turn, SaveTurn::kNone) << "written between two decisions";

  world = AutoWorld();
  OrdersAfter(world, kMinute);
  world.view.may_save = false;
  world.Advance(absl::Seconds(119));
  EXPECT_NE(world.Decide().save_turn, SaveTurn::kWanted);
  world.Advance(absl::Seconds(1));
  EXPECT_EQ(world.Decide().save_turn, SaveTurn::kWanted) << "the order was lost";
}

TEST(SaveIntervalTest, AJobThatSavesByItselfCountsWhileItWrites) {
  TestWorld world = StepsWorld();
  EXPECT_EQ(world.Decide().save_turn, SaveTurn::kNone);
  Begin(world, world.memory.id.round);
  EXPECT_EQ(world.Decide().save_turn, SaveTurn::kTaken);
  Begin(world, world.memory.id.round - 1);
  EXPECT_EQ(world.Decide().save_turn, SaveTurn::kNone) << "the writer's round is over";
}

TEST(SaveIntervalTest, OnlyModeAutoIsTheOperatorsBusiness) {
  TestWorld world = StepsWorld();
  EXPECT_THAT(OrdersAfter(world, 2 * kHour), IsEmpty());
}

}  // namespace
}  // namespace muster::control
