#include "operator/core/round/gang.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "operator/core/testing/test_world.h"

namespace muster::control {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

TEST(GangTest, TheIncarnationIsRecordedBeforeThePodIsMade) {
  TestWorld world(2);
  Plan plan = world.Decide();
  EXPECT_TRUE(plan.write_status);
  EXPECT_THAT(plan.status.incarnations(), ElementsAre(1, 1));
  EXPECT_THAT(plan.creates, IsEmpty());
  plan = world.Decide();
  ASSERT_EQ(plan.creates.size(), 2u);
  EXPECT_EQ(plan.creates[1].name, "job-1-1");
  EXPECT_THAT(plan.creates[1].labels,
              ElementsAre(Pair("muster.dev/incarnation", "1"), Pair("muster.dev/index", "1"),
                          Pair("muster.dev/job", "job")));
  EXPECT_THAT(plan.creates[1].env, Contains(Pair("JOB_COMPLETION_INDEX", "1")));
  EXPECT_EQ(plan.creates[1].ranks, 1);
}

TEST(GangTest, OnlyATrainersAgentIsToldOfGpusAndEachHasARank) {
  for (const bool trainer : {true, false}) {
    TestWorld world(1);
    world.view.spec.mutable_workers()->set_gpus(4);
    if (!trainer) world.view.spec.clear_trainer();
    world.Decide();
    const Plan plan = world.Decide();
    ASSERT_EQ(plan.creates.size(), 1u);
    EXPECT_EQ(plan.creates[0].gpus, 4);
    EXPECT_EQ(plan.creates[0].ranks, 4);
    EXPECT_THAT(plan.creates[0].env, Contains(Pair("MUSTER_RANKS", "4")));
    EXPECT_THAT(plan.creates[0].env, Contains(Pair("MUSTER_GPUS", "4")).Times(trainer ? 1 : 0));
  }
}

TEST(GangTest, AFailedCreateIsTriedAgainUnderTheSameName) {
  TestWorld world(1);
  world.Decide();
  for (int i = 0; i < 3; ++i) {  // the executor drops the memory of a plan that fails
    const Plan plan = Decide(world.view, world.memory, world.options);
    ASSERT_EQ(plan.creates.size(), 1u);
    EXPECT_EQ(plan.creates[0].name, "job-0-1");
  }
}

TEST(GangTest, ASlowCacheDoesNotMakeTwoPods) {
  TestWorld world(1);
  world.Decide();
  EXPECT_EQ(world.Decide().creates.size(), 1u);
  world.Advance(absl::Seconds(4));
  EXPECT_THAT(world.Decide().creates, IsEmpty());
  EXPECT_EQ(world.view.status.incarnations(0), 1);
}

// Regression: the name was used for a second pod.
TEST(GangTest, RegressionAPodDeletedBeforeItWasSeenIsNotMadeAgain) {
  TestWorld world(1);
  world.Decide();
  world.Decide();
  world.Advance(absl::Seconds(5));
  const Plan plan = world.Decide();
  EXPECT_THAT(plan.creates, IsEmpty());
  EXPECT_EQ(plan.status.incarnations(0), 2);
}

TEST(GangTest, APodThatVanishedIsNeverMadeAgain) {
  TestWorld world(1);
  world.Decide();
  world.AddPod(0);
  world.Decide();
  world.view.pods.clear();
  Plan plan = world.Decide();
  EXPECT_THAT(plan.creates, IsEmpty());
  EXPECT_THAT(plan.status.incarnations(), ElementsAre(2));
  plan = world.Decide();
  ASSERT_EQ(plan.creates.size(), 1u);
  EXPECT_EQ(plan.creates[0].name, "job-0-2");
}

TEST(GangTest, ANewLeaderDoesNotTrustAnUnseenNumber) {
  TestWorld world(1);
  world.view.status.add_incarnations(4);
  EXPECT_THAT(world.Decide().status.incarnations(), ElementsAre(5));
}

TEST(GangTest, ATerminatingPodDoesNotBlockItsReplacement) {
  TestWorld world(1);
  world.AddPod(0).deleting = true;
  world.Decide();
  const Plan plan = world.Decide();
  ASSERT_EQ(plan.creates.size(), 1u);
  EXPECT_EQ(plan.creates[0].name, "job-0-2");
  EXPECT_THAT(plan.deletes, IsEmpty());
}

TEST(GangTest, ReplacementsBackOff) {
  TestWorld world(1);
  for (int incarnation = 1; incarnation <= 3; ++incarnation) {
    world.view.pods.clear();
    world.AddPod(0, PodPhase::kFailed).exit_code = 137;
    Plan plan = world.Decide();
    if (incarnation > 1) {
      EXPECT_EQ(plan.status.incarnations(0), incarnation) << "waits";
      // The jitter adds up to a quarter to the wait.
      world.Advance(absl::Seconds(incarnation - 1) * 1.25);
      plan = world.Decide();
    }
    EXPECT_EQ(plan.status.incarnations(0), incarnation + 1);
  }
}

TEST(GangTest, OlderIncarnationsAndExtraWorkersAreDeletedByUid) {
  TestWorld world(1);
  world.AddPod(0, PodPhase::kFailed);
  world.AddPod(1);
  world.view.status.set_incarnations(0, 2);
  const Plan plan = world.Decide();
  ASSERT_EQ(plan.deletes.size(), 2u);
  EXPECT_EQ(plan.deletes[0].uid, "uid-job-0-1");
  EXPECT_EQ(plan.deletes[0].reason, "a newer incarnation takes its place");
  EXPECT_EQ(plan.deletes[1].uid, "uid-job-1-1");
  EXPECT_EQ(plan.deletes[1].reason, "the job is to have fewer workers now");
}

}  // namespace
}  // namespace muster::control
