// Tests the histories and the models that `tools/bench spot-replay` compares muster with.
#include <cstdint>
#include <map>
#include <vector>

#include "gtest/gtest.h"
#include "tests/simulation/replay/muster_replay.h"
#include "tests/simulation/replay/restart_model.h"
#include "tests/simulation/replay/spot_shape.h"

namespace muster::control {
namespace {

SpotShape Shape(double taken_per_hour, int most_at_once) {
  return {"test", 8, taken_per_hour, most_at_once, absl::Minutes(10)};
}

ReplayTimes Times() {
  ReplayTimes times;
  times.start = absl::Seconds(30);
  times.load = absl::Seconds(20);
  times.notice_loss = absl::Seconds(10);
  times.save = absl::Seconds(60);
  times.save_every = 100;
  times.work_per_step = absl::Seconds(8);
  return times;
}

TEST(SpotShapeTest, MachinesOfASlotAreTakenAndComeInTurn) {
  std::map<int, bool> there;
  for (int slot = 0; slot < 8; ++slot) there[slot] = true;
  const auto events = Generate(Shape(2, 4), absl::Hours(20), 1);
  ASSERT_FALSE(events.empty());
  for (size_t i = 0; i < events.size(); ++i) {
    EXPECT_EQ(there[events[i].slot], events[i].taken);
    there[events[i].slot] = !events[i].taken;
    if (i > 0) EXPECT_LE(events[i - 1].at, events[i].at);
  }
}

TEST(SpotShapeTest, AsManyAreTakenPerMachineAndHourAsTheShapeSays) {
  for (int most : {1, 4}) {
    const SpotShape shape = Shape(0.5, most);
    const absl::Duration length = absl::Hours(2000);
    const auto events = Generate(shape, length, 7);
    int taken = 0;
    for (const SpotEvent& event : events) taken += event.taken;
    EXPECT_NEAR(taken / absl::ToDoubleHours(Held(shape, events, length)), 0.5, 0.03) << most;
  }
}

TEST(RestartModelTest, WithoutLossesAllTimeButTheStartIsWork) {
  const absl::Duration length = absl::Seconds(1050);
  EXPECT_NEAR(StepsOf({8, true}, Times(), Shape(1, 1), {}, length), 1000, 1);
}

TEST(RestartModelTest, ALossTakesItBackToTheNewestDurableCheckpoint) {
  // Step 200 is done at 250 s and durable at 310 s; the machine goes at 300 s, so 100 is the
  // newest.
  const std::vector<SpotEvent> events = {{absl::Seconds(300), 3, true}};
  const absl::Duration restarted = absl::Seconds(360);
  EXPECT_NEAR(StepsOf({1, true}, Times(), Shape(1, 1), events, restarted), 100, 1);
  EXPECT_NEAR(StepsOf({1, true}, Times(), Shape(1, 1), events, restarted + absl::Seconds(80)), 170,
              1)
      << "seven machines do 0.875 steps per second";
}

TEST(RestartModelTest, OneThatNeedsAllMachinesStandsStillWithoutOne) {
  std::vector<SpotEvent> events = {{absl::Seconds(300), 3, true}};
  EXPECT_NEAR(StepsOf({8, true}, Times(), Shape(1, 1), events, absl::Hours(1)), 100, 1);
  events.push_back({absl::Seconds(3500), 3, false});
  EXPECT_NEAR(StepsOf({8, true}, Times(), Shape(1, 1), events, absl::Hours(1)), 150, 1);
}

TEST(MusterReplayTest, ALossCostsNoStepAndOnlyTheWorkOfTheLostMachine) {
  const ReplayTimes times = Times();
  const std::vector<SpotEvent> events = {{absl::Seconds(300), 3, true}};
  const absl::Duration length = absl::Minutes(20);
  for (const absl::Duration notice : {absl::ZeroDuration(), absl::Seconds(30)}) {
    const MusterReplay replay = ReplayMuster(times, Shape(1, 1), events, length, notice);
    // The job starts in 30 s and does 270 steps until then; the other 900 s are of seven machines.
    EXPECT_GT(replay.steps, 250 + 0.875 * (900 - 60));
    EXPECT_LT(replay.steps, 270 + 0.875 * 900 + 5);
    EXPECT_EQ(replay.rounds, 2);
  }
}

}  // namespace
}  // namespace muster::control
