#include "operator/core/growth/low_utilisation.h"

#include <functional>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "operator/core/state/conditions.h"
#include "operator/core/state/view.h"
#include "operator/core/testing/test_world.h"

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

// A job of four workers, one at least, that train, and are to be busy for 0.4 of 10m. `change` is
// made to its spec before it starts.
TestWorld Using(double busy,
                const std::function<void(v1alpha1::TrainingJobSpec&)>& change = nullptr) {
  TestWorld world(4);
  v1alpha1::TrainingJobSpec& spec = world.view.spec;
  spec.mutable_workers()->set_min(1);
  v1alpha1::UtilisationSpec& wanted = *spec.mutable_elastic()->mutable_utilisation();
  wanted.set_below(0.4);
  wanted.set_for_("10m");
  v1alpha1::TrainSpec& train = *spec.mutable_trainer()->mutable_train();
  train.set_steps(100'000);
  train.set_global_batch(24);
  train.set_micro_batch(1);
  train.set_sequence(1);
  if (change) change(spec);
  world.MakeActive();
  world.view.progress.busy =
      BusyView{.round = world.memory.id.round, .steps = 300, .share = 0.3, .busy = busy};
  return world;
}

// Lets `time` pass, a minute at a time, with the same use. Returns the events' reasons.
std::string Pass(TestWorld& world, absl::Duration time) {
  std::string events;
  for (; time > absl::ZeroDuration(); time -= absl::Minutes(1)) {
    events += EventReasons(world.Decide());
    world.Advance(absl::Minutes(1));
  }
  return events + EventReasons(world.Decide());
}

TEST(UtilisationTest, WorkersAreGivenBackOnceTheyWereUsedTooLittleForLongEnough) {
  TestWorld world = Using(0.3);
  EXPECT_THAT(Pass(world, absl::Minutes(9)), Not(HasSubstr("Underused")));
  EXPECT_EQ(world.view.status.workers().desired(), 4);
  EXPECT_THAT(Pass(world, absl::Minutes(1)), HasSubstr("Underused"));
  // With 3: work of 0.3 x 4/3 in a step that is 0.3 / 3 longer is 0.36 of it. With 2: 0.6 of 1.3.
  EXPECT_EQ(world.view.status.elastic().kept(), 2);
  EXPECT_EQ(world.view.status.preemption().workers(), 2);
  EXPECT_EQ(world.view.status.workers().desired(), 2);
  EXPECT_EQ(world.view.status.preemption().message(),
            "keeps 2 of 4 workers: they were busy for 30% of the time, less than "
            "elastic.utilisation.below for 10m; with 2, 46% is expected");
}

TEST(UtilisationTest, TheSmallestSizeIsKeptIfNoneIsExpectedToBeUsedEnough) {
  TestWorld world = Using(0.02);
  world.view.spec.mutable_workers()->set_min(3);
  Pass(world, absl::Minutes(10));
  EXPECT_EQ(world.view.status.elastic().kept(), 3);
  TestWorld smallest = Using(0.02);
  smallest.view.spec.mutable_workers()->set_min(4);
  EXPECT_THAT(Pass(smallest, absl::Minutes(20)), Not(HasSubstr("Underused")));
  EXPECT_FALSE(smallest.view.status.elastic().has_kept());
}

TEST(UtilisationTest, UseThatIsEnoughOrNotKnownBeginsTheTimeAnew) {
  TestWorld world = Using(0.3);
  Pass(world, absl::Minutes(9));
  world.view.progress.busy->busy = 0.4;
  world.Decide();
  world.view.progress.busy->busy = 0.3;
  EXPECT_THAT(Pass(world, absl::Minutes(4)), Not(HasSubstr("Underused")))
      << "9 + 4, but not on end";
  TestWorld unknown = Using(0.3);
  unknown.view.progress.busy.reset();
  EXPECT_THAT(Pass(unknown, absl::Minutes(30)), Not(HasSubstr("Underused")));
}

TEST(UtilisationTest, SizesThatTheLayoutDoesNotAllowAreNotKept) {
  TestWorld world = Using(0.2, [](v1alpha1::TrainingJobSpec& spec) {
    spec.mutable_trainer()->mutable_parallelism()->set_zero(1);
    spec.mutable_trainer()->mutable_parallelism()->set_shard(2);
  });
  Pass(world, absl::Minutes(10));
  EXPECT_EQ(world.view.status.elastic().kept(), 2) << "one worker would need twice the memory";
}

// The GPUs of the nodes are used for 10% of the time, although the ranks say 90%: they wait for
// data.
TEST(UtilisationTest, WhatTheDriverSaysOfTheGpusCountsIfItIsLessAndTheJobHasThemAll) {
  const auto kept = [](double share, std::optional<double> of_the_last) {
    TestWorld world = Using(0.9);
    for (PodView& pod : world.view.pods) pod.gpu_use = NodeGpuUse{.use = 0.1, .share = share};
    if (of_the_last) {
      world.view.pods.back().gpu_use->use = *of_the_last;
    } else {
      world.view.pods.back().gpu_use.reset();
    }
    Pass(world, absl::Minutes(15));
    return world.view.status.elastic().kept();
  };
  EXPECT_EQ(kept(1, 0.1), 1);
  EXPECT_EQ(kept(0.5, 0.1), 0) << "half of each node's GPUs may be another job's";
  EXPECT_EQ(kept(1, std::nullopt), 0) << "one node is not measured";
}

TEST(UtilisationTest, MoreAreWantedOnceTheyAreExpectedToBeUsedWell) {
  TestWorld world = Using(0.3);
  Pass(world, absl::Minutes(10));
  ASSERT_EQ(world.view.status.elastic().kept(), 2);
  world.JoinRound();
  world.Decide();
  const auto use = [&](double busy) {
    world.view.progress.busy = BusyView{.round = world.memory.id.round, .steps = 300, .busy = busy};
  };
  use(0.5);
  Pass(world, absl::Minutes(30));
  EXPECT_EQ(world.view.status.elastic().kept(), 2) << "four would be busy for a third of the time";
  use(0.9);
  Pass(world, absl::Minutes(12));
  EXPECT_EQ(world.view.status.elastic().kept(), 2) << "it gave workers back less than an hour ago";
  Pass(world, absl::Minutes(20));
  EXPECT_FALSE(world.view.status.elastic().has_kept());
  EXPECT_EQ(world.view.status.preemption().workers(), 2) << "until its queue has room for more";
  EXPECT_EQ(world.view.status.preemption().message(),
            "wants 4 workers again, which are expected to be busy for 82% of the time");
  use(0.1);
  world.view.spec.mutable_workers()->set_min(2);
  Pass(world, absl::Minutes(12));
  EXPECT_EQ(world.view.status.elastic().kept(), 2) << "there was no room, and it has changed";
}

// Two workers are as busy as expected, but four wait for each other for longer than two do.
TEST(UtilisationTest, AJobWhoseForecastsFailChangesItsSizeEverMoreRarely) {
  TestWorld world = Using(0.3);
  int changes = 0;
  for (int minute = 0; minute < 24 * 60; ++minute) {
    const int members = static_cast<int>(world.memory.members.size());
    world.view.progress.busy =
        BusyView{.round = world.memory.id.round, .steps = 300, .busy = members == 4 ? 0.3 : 0.9};
    if (world.view.status.elastic().kept() == 0 && world.view.status.preemption().workers() > 0) {
      // Its queue has room.
      world.view.placement.order = QueueOrder{.workers = 4,
                                              .reason = "RoomAgain",
                                              .sentence = "grows to 4 workers",
                                              .time = world.view.wall};
    }
    changes += EventReasons(world.Decide()).find("Underused") != std::string::npos ? 1 : 0;
    if (world.memory.phase != RoundPhase::kActive) world.JoinRound();
    world.Advance(absl::Minutes(1));
  }
  EXPECT_GE(changes, 3);
  EXPECT_LE(changes, 5) << "after pauses of 1, 2, 4 and 8 hours";
}

TEST(UtilisationTest, ANewLeaderKeepsThePauseOfTheLastOne) {
  TestWorld world = Using(0.3);
  Pass(world, absl::Minutes(10));
  world.JoinRound();
  world.Decide();
  ASSERT_EQ(world.view.status.elastic().kept(), 2);
  world.memory.use = {};
  world.view.progress.busy = BusyView{.round = world.memory.id.round, .steps = 300, .busy = 0.9};
  Pass(world, absl::Minutes(40));
  EXPECT_EQ(world.view.status.elastic().kept(), 2);
  Pass(world, absl::Minutes(25));
  EXPECT_FALSE(world.view.status.elastic().has_kept());
}

TEST(UtilisationTest, SparesGoWithTheWorkersAndAreNotOfferedInTheirPlace) {
  TestWorld world = Using(0.3);
  world.view.spec.mutable_workers()->set_spares(2);
  world.view.status.mutable_elastic()->set_workers(6);
  Pass(world, absl::Minutes(10));
  EXPECT_EQ(world.view.status.elastic().kept(), 2);
  EXPECT_FALSE(world.view.status.elastic().has_workers());
}

TEST(UtilisationTest, ACommandThatWouldBeginAnewKeepsItsSize) {
  const auto kept = [](bool saved) {
    TestWorld world = Using(0.3, [](auto& spec) { spec.clear_trainer(); });
    world.view.progress.busy.reset();
    for (PodView& pod : world.view.pods) pod.gpu_use = NodeGpuUse{.use = 0.1, .share = 1};
    if (saved) world.view.status.mutable_checkpoint()->set_step(100);
    Pass(world, absl::Minutes(20));
    return world.view.status.elastic().kept();
  };
  EXPECT_EQ(kept(true), 1);
  EXPECT_EQ(kept(false), 0);
}

TEST(UtilisationTest, ExpectedUseCountsTheWorkAndTheWaitsOfAStep) {
  v1alpha1::TrainingJobSpec spec;
  spec.mutable_trainer()->mutable_train()->set_global_batch(24);
  spec.mutable_trainer()->mutable_train()->set_micro_batch(1);
  EXPECT_DOUBLE_EQ(ExpectedUse(spec, 1, 4, 2), 1);
  EXPECT_DOUBLE_EQ(ExpectedUse(spec, 0.5, 4, 4), 0.5);
  EXPECT_DOUBLE_EQ(ExpectedUse(spec, 0.5, 4, 2), 1 / 1.5);
  EXPECT_DOUBLE_EQ(ExpectedUse(spec, 0.5, 2, 4), 0.25 / 0.75);
  EXPECT_DOUBLE_EQ(ExpectedUse(spec, 0.3, 7, 6), 0.35) << "the slowest has four of both";
}

}  // namespace
}  // namespace muster::control
