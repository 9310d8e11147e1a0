#include "operator/core/low_utilisation.h"

#include <functional>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "operator/core/conditions.h"
#include "operator/core/testing/test_world.h"
#include "operator/core/view.h"

namespace muster::control {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// A job of two workers that may have up to six, and has been given and trains with `size`. Ranks
// were busy for `busy` of the time.
TestWorld Grown(int size, double busy) {
  TestWorld world(2);
  v1alpha1::TrainingJobSpec& spec = world.view.spec;
  spec.mutable_workers()->set_max(6);
  spec.mutable_elastic()->set_policy("Grow");
  spec.mutable_elastic()->set_snooze("2m");
  v1alpha1::TrainSpec& train = *spec.mutable_trainer()->mutable_train();
  train.set_steps(100'000);
  train.set_global_batch(24);
  train.set_micro_batch(1);
  train.set_sequence(1);
  if (size > 2) world.view.status.mutable_elastic()->set_workers(size);
  for (int index = 2; index < size; ++index) {
    world.AddPod(index);
    world.AddAgent(index);
  }
  world.MakeActive();
  world.view.progress.busy = BusyView{.round = world.memory.id.round,
                                      .rank = 0,
                                      .steps = 300,
                                      .share = 0.3,
                                      .factor = 1.1,
                                      .busy = busy};
  return world;
}

TEST(LowUtilisationTest, WorkersThatOnlyWaitForEachOtherAreGivenUpOneSizeAtATime) {
  TestWorld world = Grown(4, 0.32);
  ASSERT_EQ(world.memory.members.size(), 4u);
  Plan plan = world.Decide();
  EXPECT_EQ(world.view.status.elastic().workers(), 3);
  EXPECT_EQ(world.view.status.workers().desired(), 3);
  EXPECT_THAT(EventReasons(plan), HasSubstr("GrowthEnded"));
  ASSERT_FALSE(plan.events.empty());
  EXPECT_EQ(plan.events[0].message,
            "the ranks of 4 workers were busy for 32% of the last 5m: the job goes back to 3 "
            "workers");
  plan = world.Decide();
  EXPECT_EQ(world.view.status.elastic().workers(), 3) << "what was measured was of 4 workers";
  EXPECT_EQ(ParseWall(world.view.status.elastic().snoozed_until()),
            world.view.wall + world.options.growth_snooze_limit)
      << "it does not grow again at once";
}

TEST(LowUtilisationTest, TheLastExtraWorkerGoesAndWorkersCountStays) {
  TestWorld world = Grown(3, 0.1);
  world.Decide();
  EXPECT_FALSE(world.view.status.elastic().has_workers());
  EXPECT_EQ(world.view.status.workers().desired(), 2);
  TestWorld small = Grown(2, 0.1);
  EXPECT_THAT(EventReasons(small.Decide()), Not(HasSubstr("GrowthEnded")));
  EXPECT_EQ(small.view.status.workers().desired(), 2);
}

TEST(LowUtilisationTest, WorkersThatAreBusyOrNotMeasuredStay) {
  const auto stays = [](const std::function<void(TestWorld&)>& change) {
    TestWorld world = Grown(4, 0.32);
    change(world);
    world.Decide();
    return world.view.status.elastic().workers() == 4;
  };
  EXPECT_FALSE(stays([](TestWorld&) {}));
  EXPECT_TRUE(stays([](TestWorld& world) { world.view.progress.busy->busy = 0.5; }));
  EXPECT_TRUE(stays([](TestWorld& world) { world.view.progress.busy->steps = 19; }));
  EXPECT_TRUE(stays([](TestWorld& world) { --world.view.progress.busy->round; }));
  EXPECT_TRUE(stays([](TestWorld& world) { world.view.progress.busy.reset(); }));
}

}  // namespace
}  // namespace muster::control
