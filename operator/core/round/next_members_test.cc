#include "operator/core/round/next_members.h"

#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "operator/core/state/conditions.h"
#include "operator/core/state/plan.h"
#include "operator/core/testing/test_world.h"

namespace muster::control {
namespace {

using ::testing::IsEmpty;

// A job of eight workers whose ranks hold two copies of the state, four ranks each.
class ShardFitTest : public testing::Test {
 protected:
  ShardFitTest() : world_(8) {
    world_.view.spec.mutable_failure_policy()->set_on_rank_failure("Shrink");
    v1alpha1::ParallelismSpec& parallelism =
        *world_.view.spec.mutable_trainer()->mutable_parallelism();
    parallelism.set_zero(3);
    parallelism.set_shard(4);
    world_.MakeActive();
    world_.Decide();
  }

  void Lose(int index) {
    std::erase_if(world_.view.agents, [&](const AgentView& a) { return a.index == index; });
    std::erase_if(world_.view.pods, [&](const PodView& pod) { return pod.index == index; });
  }

  void Join() {
    world_.JoinRound();
    world_.Decide();
  }

  std::string Members() const {
    return absl::StrJoin(world_.memory.members, " ", [](std::string* out, const auto& member) {
      absl::StrAppend(out, member.worker().index());
    });
  }

  // The slices that the members of the newest round held in the first one.
  std::set<int> Slices() const {
    std::set<int> slices;
    for (const auto& member : world_.memory.members) slices.insert(member.worker().index() % 4);
    return slices;
  }

  TestWorld world_;
};

// Seven whole copies would need four times the memory on every rank.
TEST_F(ShardFitTest, AfterALossTheLargestMultipleOfShardTrainsAndTheRestAreSpares) {
  Lose(2);
  const Plan plan = world_.Decide();
  EXPECT_EQ(world_.memory.members.size(), 4u) << plan.sentence;
  EXPECT_EQ(Slices(), (std::set<int>{0, 1, 2, 3})) << "nothing is lost that somebody holds";
  Join();
  ASSERT_EQ(world_.memory.phase, RoundPhase::kActive);
  ASSERT_NE(world_.memory.go, nullptr);
  EXPECT_EQ(world_.memory.go->mesh().shard(), 4);
  EXPECT_EQ(world_.view.status.workers().spares(), 3);
  EXPECT_EQ(world_.Condition(ConditionType::kDegraded), "True/FewerWorkers");
}

TEST_F(ShardFitTest, WorkersThatAreLeftOverInterruptNobodyUntilTheyMakeUpAMultiple) {
  Lose(2);
  world_.Decide();
  Join();
  world_.Advance(absl::Minutes(10));
  EXPECT_THAT(world_.Decide().orders, IsEmpty());
  EXPECT_EQ(world_.memory.phase, RoundPhase::kActive);

  world_.AddPod(2);
  world_.AddAgent(2);
  world_.Advance(absl::Minutes(2));
  world_.Decide();
  EXPECT_EQ(Members(), "0 1 2 3 4 5 6 7");
}

TEST_F(ShardFitTest, ALeftOverWorkerTakesTheSeatOfALostOneAtOnceWhateverThePolicy) {
  Lose(2);
  world_.Decide();
  Join();
  world_.view.spec.mutable_failure_policy()->set_on_rank_failure("RestartRank");
  Lose(world_.memory.members[0].worker().index());
  world_.Decide();
  world_.Advance(absl::Seconds(2));  // the second loss in a row
  world_.Decide();
  EXPECT_EQ(world_.memory.phase, RoundPhase::kPreparing) << "six are there, and four are wanted";
  EXPECT_EQ(world_.memory.members.size(), 4u);
}

TEST_F(ShardFitTest, FewerThanShardWaitAndSayWhatForUnlessMinShardLetsThemTrain) {
  for (const int index : {0, 2, 4, 6, 7}) Lose(index);
  world_.Decide();
  world_.Advance(absl::Minutes(10));
  const Plan plan = world_.Decide();
  EXPECT_EQ(world_.memory.phase, RoundPhase::kHolding);
  EXPECT_EQ(plan.sentence,
            "3 ranks are there, and 4 divide a copy of the state, as parallelism.shard says: the "
            "job waits for more workers; parallelism.minShard would let fewer ranks train, with "
            "more of the state on each");

  world_.view.spec.mutable_trainer()->mutable_parallelism()->set_min_shard(2);
  world_.Decide();
  EXPECT_EQ(Members(), "1 3 5");
}

TEST_F(ShardFitTest, AJobIsNotShrunkBelowItsMinimumByTheMultiple) {
  world_.view.spec.mutable_workers()->set_min(5);
  Lose(2);
  world_.Decide();
  world_.Advance(absl::Minutes(10));
  world_.Decide();
  EXPECT_EQ(world_.memory.phase, RoundPhase::kHolding)
      << "four would train, and workers.min is five: the next multiple is eight";
}

TEST_F(ShardFitTest, AWorkerMayLeaveItsNodeWhileAMultipleStays) {
  for (PodView& pod : world_.view.pods) {
    if (pod.index == 2) pod.machine_fault = "the machine is broken";
  }
  world_.Decide();
  world_.Advance(absl::Minutes(20));
  world_.Decide();
  EXPECT_EQ(world_.memory.members.size(), 4u);
  EXPECT_EQ(Members().find('2'), std::string::npos) << Members();
}

TEST_F(ShardFitTest, WithoutShardEveryRankThatIsThereTrains) {
  world_.view.spec.mutable_trainer()->mutable_parallelism()->clear_shard();
  Lose(2);
  world_.Decide();
  EXPECT_EQ(Members(), "0 1 3 4 5 6 7");
}

}  // namespace
}  // namespace muster::control
