// Tests how a job gets its spares and gives them up.
#include "operator/core/growth/keep_spares.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "operator/core/testing/spares_fixture.h"

namespace muster::control {
namespace {

using ::testing::SizeIs;

TEST_F(SparesTest, TheJobAsksItsQueueForSparesAndTrainsWithoutThem) {
  TestWorld world(3);
  world.view.spec.mutable_workers()->set_spares(2);
  world.MakeActive();
  EXPECT_EQ(world.memory.phase, RoundPhase::kActive);
  EXPECT_EQ(world.view.status.elastic().least(), 4);
  EXPECT_EQ(world.view.status.elastic().wanted(), 5);
  EXPECT_EQ(world.view.status.workers().desired(), 3);
  EXPECT_THAT(world.view.status.incarnations(), SizeIs(3));
}

TEST_F(SparesTest, FewerSparesInTheSpecDeleteTheLastPods) {
  world_.view.spec.mutable_workers()->set_spares(0);
  const Plan plan = world_.Decide();
  ASSERT_THAT(plan.deletes, SizeIs(1));
  EXPECT_EQ(plan.deletes[0].name, "job-3-1");
  EXPECT_TRUE(Trains());
  EXPECT_FALSE(Status().has_elastic());
  EXPECT_FALSE(Status().workers().has_spares());
}

TEST_F(SparesTest, MoreSparesInTheSpecAreAskedFor) {
  world_.view.spec.mutable_workers()->set_spares(3);
  world_.Decide();
  EXPECT_EQ(Status().elastic().least(), 5);
  EXPECT_EQ(Status().elastic().wanted(), 6);
  Grant(6);
  EXPECT_THAT(Status().incarnations(), SizeIs(6));
}

TEST_F(SparesTest, ASpareThatIsTakenAwayLeavesItsSeatToTheReplacement) {
  LoseToASpare(1);
  world_.view.placement.order =
      QueueOrder{3, "Yielded", "shrinks for another", world_.view.wall + absl::Seconds(1)};
  world_.Advance(absl::Seconds(5));
  world_.Decide();
  EXPECT_EQ(Ranks(), "0 1 2");
  EXPECT_EQ(world_.memory.broken_sentence, "the job shrinks for another");
  Join();
  const Plan plan = world_.Decide();
  ASSERT_THAT(plan.deletes, SizeIs(1));
  EXPECT_EQ(plan.deletes[0].name, "job-3-1");
}

TEST_F(SparesTest, AJobThatHasLostAllItsNodesStartsWithoutItsSpares) {
  for (int index = 0; index < 4; ++index) Lose(index);
  world_.Decide();
  EXPECT_FALSE(Status().elastic().has_workers());
  EXPECT_EQ(Status().elastic().wanted(), 4);
}

}  // namespace
}  // namespace muster::control
