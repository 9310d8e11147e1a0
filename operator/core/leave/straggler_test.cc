#include "operator/core/leave/straggler.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "operator/core/testing/spot_fixture.h"
#include "operator/core/testing/test_world.h"

namespace muster::control {
namespace {

using ::testing::HasSubstr;

// Three of four workers of one rank each may go on; each has three micro-batches. A spare waits.
TestWorld World(const v1alpha1::ParallelismSpec& parallelism = {}, int global_batch = 24) {
  TestWorld world(4);
  *world.view.spec.mutable_trainer()->mutable_parallelism() = parallelism;
  world.view.spec.mutable_workers()->set_min(3);
  world.view.spec.mutable_checkpoint()->set_uri("/checkpoints");
  world.view.spec.mutable_trainer()->mutable_train()->set_global_batch(global_batch);
  world.view.spec.mutable_trainer()->mutable_train()->set_micro_batch(2);
  world.MakeActive();
  world.view.status.mutable_workers()->set_spares(1);
  Write(world, 10);
  world.Decide();
  return world;
}

void IsSlow(TestWorld& world, int rank, double share = 0.95, double factor = 1.5) {
  world.view.status.mutable_workers()->set_spares(1);
  world.view.progress.busy = BusyView{
      .round = world.memory.id.round, .rank = rank, .steps = 100, .share = share, .factor = factor};
}

TEST(StragglerTest, AWorkerThatTheOthersWaitForSavesAndLeavesItsNodeForGood) {
  TestWorld world = World();
  IsSlow(world, 2);
  Plan plan = world.Decide();
  EXPECT_THAT(OrderTexts(plan), HasSubstr("Save:2"));
  ASSERT_EQ(plan.events.size(), 1u);
  EXPECT_THAT(
      plan.events[0].message,
      HasSubstr("worker 2 leaves node node (rank 2 was the busiest in 95% of 100 steps, and "
                "the busiest rank took 1.50 times the mean, it goes to another node)"));
  world.view.progress.busy.reset();
  Write(world, 12);
  world.Decide();
  world.Advance(absl::Seconds(1));
  world.JoinRound();
  plan = world.Decide();
  EXPECT_EQ(plan.status.incarnations(2), 2);
  world.view.pods.erase(world.view.pods.begin() + 2);
  for (int i = 0; i < 3 && plan.creates.empty(); ++i) {
    world.Advance(absl::Seconds(1));
    plan = world.Decide();
  }
  ASSERT_EQ(plan.creates.size(), 1u);
  EXPECT_EQ(plan.creates[0].avoided_node, "node");
  EXPECT_EQ(world.view.status.failures().count(), 0);
}

// With it a step takes three micro-batches at two thirds of the speed, without it four.
TEST(StragglerTest, WithoutASpareTheOthersTrainWithoutItIfThatIsFasterAndItDoesNotGoBack) {
  TestWorld world = World();
  IsSlow(world, 2, 0.95, 1.5);
  world.view.status.mutable_workers()->set_spares(0);
  Plan plan = world.Decide();
  EXPECT_THAT(plan.events[0].message,
              HasSubstr("steps without it are expected to take 89% of the time"));
  world.view.progress.busy.reset();
  Write(world, 12);
  EXPECT_EQ(OrderTexts(world.Decide()), "Prepare:0 Prepare:1 Prepare:3");
  world.JoinRound();
  plan = world.Decide();
  ASSERT_EQ(plan.status.incarnations(2), 2);
  std::erase_if(world.view.pods, [](const PodView& pod) { return pod.index == 2; });
  std::erase_if(world.view.agents, [](const AgentView& agent) { return agent.index == 2; });
  world.AddPod(2, PodPhase::kPending);
  for (int i = 0; i < 10; ++i) {
    world.Advance(absl::Minutes(1));
    for (AgentView& agent : world.view.agents) agent.last_heard = world.view.now;
    world.Decide();
  }
  EXPECT_EQ(world.view.status.incarnations(2), 2) << "no pod of it goes back to that node";
  EXPECT_EQ(world.memory.phase, RoundPhase::kActive);
}

TEST(StragglerTest, NobodyLeavesWithoutEvidenceOrWithoutASpare) {
  const auto leaves = [](auto change) {
    TestWorld world = World();
    IsSlow(world, 2);
    change(world);
    world.Decide();
    return world.view.status.workers().leaving_size() > 0;
  };
  EXPECT_TRUE(leaves([](TestWorld&) {}));
  EXPECT_FALSE(leaves([](TestWorld& world) { IsSlow(world, 2, 0.8); })) << "it is not always it";
  EXPECT_FALSE(leaves([](TestWorld& world) { IsSlow(world, 2, 0.95, 1.1); })) << "they wait little";
  EXPECT_FALSE(leaves([](TestWorld& world) { world.view.progress.busy->steps = 10; }));
  EXPECT_FALSE(leaves([](TestWorld& world) { --world.view.progress.busy->round; }));
  EXPECT_FALSE(leaves([](TestWorld& world) {
    IsSlow(world, 2, 0.95, 1.4);
    world.view.status.mutable_workers()->set_spares(0);
  })) << "three workers would take 95% of the time";
  EXPECT_FALSE(leaves([](TestWorld& world) {
    world.view.spec.mutable_workers()->set_min(4);
    world.view.status.mutable_workers()->set_spares(0);
  })) << "workers.min is four";
  EXPECT_FALSE(leaves([](TestWorld& world) {
    world.view.spec.mutable_trainer()->mutable_train()->set_global_batch(28);
    world.memory.spec = std::make_shared<v1alpha1::TrainingJobSpec>(world.view.spec);
  })) << "14 micro-batches: two ranks have four, and two have three";
}

TEST(StragglerTest, TheNextOneMovesAfterTheSnooze) {
  TestWorld world = World();
  world.view.spec.mutable_elastic()->set_snooze("10m");
  IsSlow(world, 2);
  world.Decide();
  Write(world, 12);
  world.Decide();
  world.Advance(absl::Seconds(1));
  world.JoinRound();
  world.Decide();
  EXPECT_EQ(world.view.status.workers().leaving_size(), 0);
  IsSlow(world, 1);
  world.Decide();
  EXPECT_EQ(world.view.status.workers().leaving_size(), 0) << "the snooze is not over";
  world.Advance(absl::Minutes(10));
  for (AgentView& agent : world.view.agents) agent.last_heard = world.view.now;
  IsSlow(world, 1);
  world.Decide();
  EXPECT_EQ(world.view.status.workers().leaving_size(), 1);
}

// The pod's own affinity tells the next leader.
TEST(StragglerTest, ANewLeaderKeepsTheNextPodsOffTheNodeThatWasLeft) {
  TestWorld world = World();
  world.view.pods[2].avoided_node = "bad";
  ChangeLeaders(world);
  world.Decide();
  world.view.pods.erase(world.view.pods.begin() + 2);
  std::erase_if(world.view.agents, [](const AgentView& agent) { return agent.index == 2; });
  Plan plan = world.Decide();
  for (int i = 0; i < 5 && plan.creates.empty(); ++i) {
    world.Advance(absl::Seconds(5));
    plan = world.Decide();
  }
  ASSERT_EQ(plan.creates.size(), 1u);
  EXPECT_EQ(plan.creates[0].avoided_node, "bad");
}

TEST(StragglerTest, APodThatFindsNoOtherNodeUnderANewLeaderMayGoBackAfterAMinute) {
  TestWorld world = World();
  world.view.pods[2].avoided_node = "bad";
  world.view.pods[2].node.clear();
  world.view.pods[2].phase = PodPhase::kPending;
  std::erase_if(world.view.agents, [](const AgentView& agent) { return agent.index == 2; });
  ChangeLeaders(world);
  const int before = world.view.status.incarnations(2);
  world.Decide();
  world.Advance(absl::Seconds(50));
  world.Decide();
  EXPECT_EQ(world.view.status.incarnations(2), before);
  world.Advance(absl::Seconds(11));
  world.Decide();
  EXPECT_EQ(world.view.status.incarnations(2), before + 1);
}

TEST(StragglerTest, TheRanksOfACostlierStageAreNone) {
  v1alpha1::ParallelismSpec parallelism;
  parallelism.set_pipeline(2);
  TestWorld world = World(parallelism);
  IsSlow(world, 2);
  EXPECT_TRUE(world.Decide().events.empty());
}

// Two ranks work on the three micro-batches that one of their groups has, of 6 in all.
TEST(StragglerTest, TheRanksOfATensorGroupHaveTheSameMicroBatches) {
  for (const int tensor : {1, 2}) {
    v1alpha1::ParallelismSpec parallelism;
    parallelism.set_tensor(tensor);
    TestWorld world = World(parallelism, 12);
    IsSlow(world, 2);
    EXPECT_EQ(world.Decide().events.size(), tensor == 2 ? 1u : 0u) << tensor;
  }
}

}  // namespace
}  // namespace muster::control
