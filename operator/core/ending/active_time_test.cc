#include "operator/core/ending/active_time.h"

#include "gtest/gtest.h"
#include "operator/core/testing/test_world.h"

namespace muster::control {
namespace {

TestWorld WorldWithADeadline() {
  TestWorld world(1);
  world.view.spec.set_active_deadline("30s");
  return world;
}

TEST(ActiveTimeTest, TheWaitForTheFirstRoundDoesNotCount) {
  TestWorld world = WorldWithADeadline();
  world.Decide();
  world.view.placement.reason = "QueueFull";
  world.view.placement.queued = true;
  world.Advance(absl::Hours(10));
  world.Decide();
  EXPECT_FALSE(world.view.status.has_active_since());
  world.view.placement = {};
  world.MakeActive();
  world.Advance(absl::Seconds(29));
  EXPECT_LE(*world.Decide().requeue_after, absl::Seconds(1));
  EXPECT_EQ(world.Condition(ConditionType::kFailed), "");
  world.Advance(absl::Seconds(1));
  world.Decide();
  EXPECT_EQ(world.Condition(ConditionType::kFailed), "True/DeadlineExceeded");
  EXPECT_FALSE(world.view.status.has_active_since());
  EXPECT_EQ(world.view.status.active_seconds(), 30);
}

// Stops the job's workers by `stop` after 20 of its 30 seconds, leaves them so for ten hours, and
// resumes under another leader.
template <typename Stop, typename Resume>
void ExpectTheClockStops(Stop stop, Resume resume) {
  TestWorld world = WorldWithADeadline();
  world.MakeActive();
  world.Advance(absl::Seconds(20));
  stop(world);
  world.Decide();
  world.view.pods.clear();
  world.view.agents.clear();
  world.Decide();
  world.Decide();
  EXPECT_FALSE(world.view.status.has_active_since());
  EXPECT_EQ(world.view.status.active_seconds(), 20);
  world.Advance(absl::Hours(10));
  world.Decide();
  resume(world);
  world.memory = RoundMemory{};
  ++world.view.leader_term;
  world.view.leading_since = world.view.now;
  world.Decide();
  world.Decide();
  world.AddWorkers();
  world.Decide();
  EXPECT_TRUE(world.view.status.has_active_since());
  world.Advance(absl::Seconds(9));
  world.Decide();
  EXPECT_EQ(world.Condition(ConditionType::kFailed), "");
  world.Advance(absl::Seconds(1));
  world.Decide();
  EXPECT_EQ(world.Condition(ConditionType::kFailed), "True/DeadlineExceeded");
}

TEST(ActiveTimeTest, ASuspensionStopsTheClock) {
  ExpectTheClockStops([](TestWorld& world) { world.view.spec.set_suspend(true); },
                      [](TestWorld& world) { world.view.spec.set_suspend(false); });
}

TEST(ActiveTimeTest, MakingRoomForOthersStopsTheClock) {
  ExpectTheClockStops(
      [](TestWorld& world) {
        world.view.placement.order = QueueOrder{0, "Priority", "was preempted", world.view.wall};
        world.Decide();
      },
      [](TestWorld&) {});
}

TEST(ActiveTimeTest, LosingItsPlaceStopsTheClock) {
  ExpectTheClockStops(
      [](TestWorld& world) {
        world.view.pods.clear();
        world.view.placement.reason = "Insufficient";
      },
      [](TestWorld& world) { world.view.placement = {}; });
}

TEST(ActiveTimeTest, ALostWorkersReplacementCounts) {
  TestWorld world = WorldWithADeadline();
  world.MakeActive();
  world.Advance(absl::Seconds(20));
  world.view.pods.clear();
  world.view.agents.clear();
  world.Decide();
  EXPECT_TRUE(world.view.status.has_active_since());
}

TEST(ActiveTimeTest, AClockThatWasSetBackTakesNothingAway) {
  v1alpha1::TrainingJobStatus status;
  const absl::Time now = absl::FromUnixSeconds(1'700'000'000);
  status.set_active_seconds(20);
  EXPECT_EQ(ActiveFor(status, now), absl::Seconds(20));
  status.set_active_since(FormatWall(now));
  EXPECT_EQ(ActiveFor(status, now + absl::Seconds(5)), absl::Seconds(25));
  EXPECT_EQ(ActiveFor(status, now - absl::Hours(5)), absl::Seconds(20));
}

}  // namespace
}  // namespace muster::control
