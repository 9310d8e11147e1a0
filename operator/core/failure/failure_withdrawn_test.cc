// A rank's end that is reported before the loss of its node is first counted, and then withdrawn.
#include <string>

#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "operator/core/state/conditions.h"
#include "operator/core/state/plan.h"
#include "operator/core/state/round_memory.h"
#include "operator/core/state/view.h"
#include "operator/core/testing/sim_world.h"
#include "operator/core/testing/test_world.h"
#include "proto/muster/v1alpha1/training_job.pb.h"

namespace muster::control {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr absl::Duration kWindow = absl::Seconds(60);

// Rank 1, which is of worker 1, was killed, and the failure counted.
struct CountedRank {
  CountedRank() : world(2) {
    world.MakeActive();
    ExitReport exit;
    exit.round = world.memory.id;
    exit.rank = 1;
    exit.exit_code = 137;
    exit.signal = 9;
    exit.reason = "Signaled";
    world.view.agents[1].exits.push_back(exit);
    world.Decide();
    EXPECT_EQ(Failures().count(), 1);
    EXPECT_EQ(Failures().latest().class_(), "RankKilled");
  }
  const v1alpha1::FailureStatus& Failures() const { return world.view.status.failures(); }
  void LoseNode(int index) {
    world.view.pods[index].node_conditions = {{"Ready", "Unknown", "NodeStatusUnknown"}};
  }
  TestWorld world;
};

TEST(FailureWithdrawnTest, ANodeLossReportedWithinTheWindowIsNotCounted) {
  CountedRank late;
  late.world.Advance(kWindow);
  late.LoseNode(1);
  const Plan plan = late.world.Decide();
  EXPECT_TRUE(plan.write_status);
  EXPECT_EQ(late.Failures().count(), 0);
  EXPECT_EQ(late.Failures().ignored(), 1);
  EXPECT_THAT(late.Failures().times(), IsEmpty());
  EXPECT_FALSE(late.Failures().has_first());
  EXPECT_FALSE(late.Failures().has_evidence());
  EXPECT_EQ(late.Failures().latest().class_(), "NodeLost");
  EXPECT_EQ(late.Failures().latest().action(), "Ignore");
  EXPECT_EQ(late.Failures().latest().exit_code(), 137);
  EXPECT_THAT(plan.failures, IsEmpty()) << "judged once";
  late.world.Decide();
  EXPECT_EQ(late.Failures().ignored(), 1) << "taken back once";
}

TEST(FailureWithdrawnTest, AfterTheWindowItStaysCounted) {
  CountedRank late;
  late.world.Advance(kWindow + absl::Milliseconds(1));
  late.LoseNode(1);
  late.world.Decide();
  EXPECT_EQ(late.Failures().count(), 1);
  EXPECT_EQ(late.Failures().latest().class_(), "RankKilled");
}

TEST(FailureWithdrawnTest, TheNodeIsLookedAtOnceMoreWhenTheWindowEnds) {
  CountedRank late;
  late.world.Advance(absl::Seconds(59.5));
  EXPECT_LE(late.world.Decide().requeue_after.value_or(absl::Hours(1)), absl::Seconds(0.5));
}

TEST(FailureWithdrawnTest, AnotherWorkersNodeExplainsNothing) {
  CountedRank late;
  late.LoseNode(0);
  late.world.Decide();
  EXPECT_EQ(late.Failures().count(), 1);
}

TEST(FailureWithdrawnTest, TheEvidenceOfAnEarlierFailureStays) {
  CountedRank late;
  v1alpha1::FailureStatus& kept = *late.world.view.status.mutable_failures();
  kept.set_count(2);
  kept.set_evidence("an earlier one");
  kept.mutable_first()->set_rank(0);
  kept.mutable_times()->Add("2023-11-14T22:13:10.000Z");
  kept.mutable_times()->SwapElements(0, 1);
  late.LoseNode(1);
  late.world.Decide();
  EXPECT_EQ(late.Failures().count(), 1);
  EXPECT_EQ(late.Failures().evidence(), "an earlier one");
  EXPECT_TRUE(late.Failures().has_first());
  ASSERT_THAT(late.Failures().times(), SizeIs(1));
  EXPECT_EQ(late.Failures().times(0), "2023-11-14T22:13:10.000Z");
}

TEST(FailureWithdrawnTest, ADisruptedPodIsOneFailureWithItsRank) {
  CountedRank late;
  PodView& pod = late.world.view.pods[1];
  pod.conditions = {{"DisruptionTarget", "True", "DeletionByTaintManager"}};
  pod.deleting = true;
  late.world.Decide();
  EXPECT_EQ(late.Failures().count(), 0);
  EXPECT_EQ(late.Failures().ignored(), 1);
  EXPECT_EQ(late.Failures().latest().class_(), "Disruption");
}

TEST(FailureWithdrawnTest, ANewLeaderWithdrawsAFailureToo) {
  CountedRank late;
  late.world.memory = RoundMemory{};
  ++late.world.view.leader_term;
  late.world.Advance(absl::Seconds(20));
  late.LoseNode(1);
  late.world.Decide();
  EXPECT_EQ(late.Failures().count(), 0);
}

TEST(FailureWithdrawnTest, ARuleThatCountsLostNodesIsObeyed) {
  CountedRank late;
  v1alpha1::FailureRule& rule = *late.world.view.spec.mutable_failure_policy()->add_rules();
  rule.set_action("RestartWorker");
  rule.mutable_exit_codes()->add_values(137);
  late.LoseNode(1);
  late.world.Decide();
  EXPECT_EQ(late.Failures().count(), 1);
}

TEST(FailureWithdrawnTest, TwentyNodesWhoseRanksAreHeardFirstNeverFailTheJob) {
  SimWorld world(130);
  world.job.spec.mutable_trainer()->mutable_train()->set_steps(100'000);
  world.job.spec.mutable_failure_policy()->set_max_failures(1);
  for (int i = 1; i <= 20; ++i) {
    const int64_t step = world.committed + 3;
    for (int n = 0; n < 4000 && world.committed < step; ++n) world.RunOnce();
    ASSERT_EQ(world.job.status.state(), "Training") << i;
    world.EndRank(i % 3, 143);
    const absl::Time lost = world.now + absl::Milliseconds(world.Number(50, 20'000));
    while (world.now < lost) world.RunOnce();
    EXPECT_EQ(world.job.status.failures().count(), 1);
    world.LoseNode(i % 3);
    for (int n = 0; n < 4; ++n) world.RunOnce();
    EXPECT_EQ(world.job.status.failures().count(), 0);
    EXPECT_EQ(world.job.status.failures().ignored(), i);
  }
  EXPECT_THAT(world.violations, IsEmpty());
}

}  // namespace
}  // namespace muster::control
