// Tests when workers that come while a round trains join it.
#include <string>

#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "operator/core/state/plan.h"
#include "operator/core/testing/test_world.h"

namespace muster::control {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

// A job of two workers that train, scaled to four whose pods have nodes.
class ElasticTest : public testing::Test {
 protected:
  ElasticTest() : world_(2) {
    world_.view.spec.mutable_workers()->set_max(4);
    world_.MakeActive();
    world_.Decide();
    world_.view.spec.mutable_workers()->set_count(4);
    world_.Decide();
    for (const int index : {2, 3}) world_.AddPod(index);
    world_.Advance(absl::Seconds(5));
  }

  bool Trains() const { return world_.memory.phase == RoundPhase::kActive; }

  TestWorld world_;
};

TEST_F(ElasticTest, WorkersThatComeOneAfterTheOtherJoinInOneRound) {
  world_.AddAgent(2);
  Plan plan = world_.Decide();
  EXPECT_TRUE(Trains()) << plan.sentence;
  EXPECT_THAT(plan.orders, IsEmpty());
  ASSERT_TRUE(plan.requeue_after.has_value());
  EXPECT_LE(*plan.requeue_after, world_.options.replacement_wait);

  world_.Advance(absl::Seconds(5));
  world_.AddAgent(3);
  plan = world_.Decide();
  EXPECT_EQ(world_.memory.broken_sentence, "workers 2-3 are attached and join the next round");
  EXPECT_EQ(OrderTexts(plan), "Prepare:0 Prepare:1 Prepare:2 Prepare:3");
}

TEST_F(ElasticTest, AWorkerThatDoesNotComeHoldsUpTheOthersForAWhileAndTheTrainingNever) {
  world_.AddAgent(2);
  world_.Decide();
  world_.Advance(world_.options.replacement_wait - absl::Seconds(1));
  world_.Decide();
  EXPECT_TRUE(Trains());
  world_.Advance(absl::Seconds(1));
  const Plan plan = world_.Decide();
  EXPECT_EQ(world_.memory.broken_sentence, "worker 2 is attached and joins the next round");
  EXPECT_EQ(OrderTexts(plan), "Prepare:0 Prepare:1 Prepare:2") << plan.sentence;
}

TEST_F(ElasticTest, AWorkerWhoseRanksLoadJoinsOnceTheyHave) {
  for (const int index : {2, 3}) world_.AddAgent(index).loading = true;
  Plan plan = world_.Decide();
  EXPECT_TRUE(Trains()) << plan.sentence;
  EXPECT_THAT(plan.orders, IsEmpty());

  world_.Advance(absl::Minutes(2));
  for (AgentView& agent : world_.view.agents) agent.loading = false;
  plan = world_.Decide();
  EXPECT_EQ(world_.memory.broken_sentence, "workers 2-3 are attached and join the next round");
}

TEST_F(ElasticTest, AWorkerThatNeverSaysThatItHasLoadedJoinsAsLateAsARoundWaits) {
  for (const int index : {2, 3}) world_.AddAgent(index).loading = true;
  const Plan plan = world_.Decide();
  ASSERT_TRUE(plan.requeue_after.has_value());
  EXPECT_LE(*plan.requeue_after, world_.options.join_deadline);
  world_.Advance(world_.options.join_deadline);
  world_.Decide();
  EXPECT_EQ(world_.memory.broken_sentence, "workers 2-3 are attached and join the next round");
}

TEST_F(ElasticTest, AWorkerWithoutANodeIsNotWaitedFor) {
  for (PodView& pod : world_.view.pods) {
    if (pod.index == 3) pod.node.clear();
  }
  world_.view.placement.reason = "Insufficient";
  world_.AddAgent(2);
  const Plan plan = world_.Decide();
  EXPECT_EQ(OrderTexts(plan), "Prepare:0 Prepare:1 Prepare:2") << plan.sentence;
  EXPECT_THAT(world_.memory.members, SizeIs(3));
}

}  // namespace
}  // namespace muster::control
