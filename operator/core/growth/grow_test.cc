// Tests how a job grows beyond workers.count, and gives that up again.
#include <algorithm>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "operator/core/state/conditions.h"
#include "operator/core/state/view.h"
#include "operator/core/testing/test_world.h"

namespace muster::control {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

constexpr absl::Duration kSnooze = absl::Minutes(2);

// A job of two workers that may grow to four, trains, and would gain hours.
class GrowTest : public testing::Test {
 protected:
  GrowTest() : world_(2) {
    v1alpha1::TrainingJobSpec& spec = world_.view.spec;
    spec.mutable_workers()->set_max(4);
    spec.mutable_elastic()->set_policy("Grow");
    spec.mutable_elastic()->set_snooze("2m");
    spec.mutable_trainer()->mutable_train()->set_steps(10'000);
    spec.mutable_trainer()->mutable_train()->set_global_batch(8);
    spec.mutable_trainer()->mutable_train()->set_micro_batch(1);
    spec.mutable_trainer()->mutable_train()->set_sequence(1);
    world_.MakeActive();
    world_.view.progress.tokens_per_second = 8;  // a step a second
    world_.Decide();
  }

  const v1alpha1::ElasticStatus& Elastic() const { return world_.view.status.elastic(); }

  Plan Order(int workers, const std::string& reason, const std::string& sentence) {
    world_.Advance(absl::Seconds(5));
    world_.view.placement.order = QueueOrder{workers, reason, sentence, world_.view.wall};
    return world_.Decide();
  }
  void Grant() { Order(4, "FreeCapacity", "grows to 4 workers"); }

  void Start(int index) {
    world_.AddPod(index);
    world_.AddAgent(index);
  }
  // Lets those that the round under way is opened with answer.
  void Join() {
    for (AgentView& agent : world_.view.agents) {
      if (agent.index >= static_cast<int>(world_.memory.members.size())) continue;
      agent.seen = world_.memory.id;
      agent.ready = ReadyReport{world_.memory.id, std::vector<v1alpha1::RankReady>(1)};
    }
    world_.Decide();
    for (AgentView& agent : world_.view.agents) {
      if (agent.index < static_cast<int>(world_.memory.members.size())) {
        agent.joined = Joined(world_.memory);
      }
    }
    world_.Decide();
    world_.Decide();
  }
  // Lets the job train with four workers.
  void Grow() {
    Grant();
    Start(2);
    Start(3);
    world_.Decide();
    Join();
  }

  TestWorld world_;
};

TEST_F(GrowTest, AJobSaysWhichSizesItWouldTake) {
  EXPECT_EQ(Elastic().least(), 3);
  EXPECT_EQ(Elastic().wanted(), 4);
  EXPECT_EQ(Elastic().reason(), "NoCapacity");
  EXPECT_EQ(world_.view.status.workers().desired(), 2);
}

TEST_F(GrowTest, AJobWithPolicyFixedSaysNothingAndObeysNoLargerOrder) {
  world_.view.spec.mutable_elastic()->set_policy("Fixed");
  Grant();
  EXPECT_FALSE(world_.view.status.has_elastic());
  EXPECT_EQ(world_.view.status.workers().desired(), 2);
}

TEST_F(GrowTest, WorkersAreMadeOnceTheOrderIsWrittenAndJoinTogether) {
  Grant();
  EXPECT_EQ(Elastic().workers(), 4);
  EXPECT_EQ(Elastic().reason(), "Growing");
  EXPECT_FALSE(Elastic().has_wanted());
  EXPECT_EQ(world_.view.status.workers().desired(), 4);
  EXPECT_THAT(world_.Decide().creates, SizeIs(2));
  Start(2);
  EXPECT_EQ(OrderTexts(world_.Decide()), "") << "no round waits for worker 3";
  EXPECT_EQ(world_.Condition(ConditionType::kScheduled), "True/PodsBound");
  Start(3);
  EXPECT_EQ(OrderTexts(world_.Decide()), "Prepare:0 Prepare:1 Prepare:2 Prepare:3");
  world_.Advance(absl::Seconds(2));
  Join();
  EXPECT_EQ(world_.Condition(ConditionType::kRunning), "True/RoundActive");
  EXPECT_EQ(world_.Condition(ConditionType::kDegraded), "False/AllWorkers");
  EXPECT_EQ(Elastic().reason(), "AtMaximum");
  const v1alpha1::ResizeStatus& resize = world_.view.status.resize();
  EXPECT_EQ(resize.from(), 2);
  EXPECT_EQ(resize.to(), 4);
  EXPECT_EQ(resize.round(), 2);
  EXPECT_EQ(resize.pause_seconds(), 2);
}

TEST_F(GrowTest, ANewLeaderGoesOnWithTheSizeThatWasGranted) {
  Grow();
  world_.memory = RoundMemory{};
  world_.view.placement.order.reset();
  world_.view.leader_term = 2;
  for (AgentView& agent : world_.view.agents) agent.active = agent.seen = {1, 2};
  for (int i = 0; i < 3; ++i) EXPECT_THAT(world_.Decide().deletes, IsEmpty());
  EXPECT_EQ(Elastic().workers(), 4);
  EXPECT_EQ(world_.memory.members.size(), 4u);
  EXPECT_EQ(world_.Condition(ConditionType::kRunning), "True/RoundAdopted");
}

TEST_F(GrowTest, AJobThatYieldsTrainsOnWithoutTheWorkersAndIsSnoozed) {
  Grow();
  const Plan plan = Order(2, "Yielded", "shrinks to 2 workers for team/large");
  EXPECT_THAT(EventReasons(plan), HasSubstr("Yielded"));
  EXPECT_EQ(OrderTexts(plan), "Prepare:0 Prepare:1");
  EXPECT_THAT(plan.deletes, IsEmpty()) << "the smaller round comes first";
  EXPECT_FALSE(Elastic().has_workers());
  EXPECT_FALSE(world_.view.status.preemption().has_workers()) << "workers.count is left";
  Join();
  EXPECT_EQ(world_.view.status.resize().message(), "the job shrinks to 2 workers for team/large");
  EXPECT_EQ(Elastic().reason(), "Snoozed");
  EXPECT_FALSE(Elastic().has_wanted());
  EXPECT_THAT(Elastic().message(), HasSubstr(Elastic().snoozed_until()));
  world_.Advance(kSnooze);
  world_.Decide();
  EXPECT_EQ(Elastic().reason(), "NoCapacity");
  EXPECT_EQ(Elastic().wanted(), 4);
}

TEST_F(GrowTest, ASnoozeOutlivesItsLeader) {
  Grow();
  Order(2, "Yielded", "shrinks to 2 workers for team/large");
  Join();
  world_.view.pods.resize(2);
  world_.view.agents.resize(2);
  world_.memory = RoundMemory{};
  world_.view.placement.order.reset();
  world_.view.leader_term = 2;
  for (AgentView& agent : world_.view.agents) agent.active = agent.seen = {1, 3};
  for (int i = 0; i < 3; ++i) world_.Decide();
  EXPECT_EQ(Elastic().reason(), "Snoozed");
  world_.Advance(kSnooze);
  world_.Decide();
  EXPECT_EQ(Elastic().reason(), "NoCapacity");
}

TEST_F(GrowTest, WorkersWithoutANodeAreGivenUpAndTheSnoozeGrowsWithEachFailure) {
  for (int failures = 1; failures <= 7; ++failures) {
    Grant();
    world_.AddPod(2, PodPhase::kPending);
    world_.AddPod(3, PodPhase::kPending);
    world_.Advance(DecideOptions{}.growth_bind_deadline);
    const Plan plan = world_.Decide();
    EXPECT_THAT(EventReasons(plan), HasSubstr("GrowthEnded"));
    EXPECT_THAT(plan.deletes, SizeIs(2));
    EXPECT_EQ(OrderTexts(plan), "") << "the others have trained all the time";
    EXPECT_FALSE(Elastic().has_workers());
    EXPECT_EQ(Elastic().failures(), failures);
    const absl::Duration snooze = ParseWall(Elastic().snoozed_until()) - world_.view.wall;
    EXPECT_EQ(snooze, std::min(kSnooze * (1 << failures), absl::Hours(1)));
    world_.view.pods.resize(2);
    world_.Advance(snooze);
    world_.Decide();
    EXPECT_EQ(Elastic().wanted(), 4);
  }
}

TEST_F(GrowTest, WorkersThatAreReadyAreKeptWhenOthersDoNotCome) {
  Grant();
  Start(2);
  world_.AddPod(3, PodPhase::kPending);
  world_.Advance(DecideOptions{}.growth_bind_deadline);
  EXPECT_EQ(OrderTexts(world_.Decide()), "Prepare:0 Prepare:1 Prepare:2");
  EXPECT_EQ(Elastic().workers(), 3);
  EXPECT_EQ(Elastic().failures(), 1);
}

TEST_F(GrowTest, ALostWorkerBeyondTheCountIsNotReplaced) {
  Grow();
  world_.view.pods[2].phase = PodPhase::kFailed;
  const Plan plan = world_.Decide();
  EXPECT_THAT(plan.creates, IsEmpty());
  EXPECT_FALSE(Elastic().has_workers()) << "worker 3 alone has no place in the order of ranks";
  EXPECT_EQ(Elastic().failures(), 0) << "it did train";
  world_.Advance(absl::Seconds(5));
  world_.Decide();
  EXPECT_EQ(world_.memory.members.size(), 2u) << "no round waits for it";
  Join();
  EXPECT_EQ(world_.Condition(ConditionType::kRunning), "True/RoundActive");
  EXPECT_EQ(Elastic().reason(), "Snoozed");
}

// With ZeRO, the worker held a slice of the state, but it is gone and cannot save the slice.
TEST_F(GrowTest, NoCheckpointIsAskedForWhenAnExtraWorkerIsLost) {
  world_.view.spec.mutable_checkpoint()->set_uri("out");
  Grow();
  world_.view.spec.mutable_trainer()->mutable_parallelism()->set_zero(1);
  world_.memory.trajectory.clear();  // the round goes on by the new spec
  world_.view.pods[3].phase = PodPhase::kFailed;
  const Plan plan = world_.Decide();
  EXPECT_THAT(EventReasons(plan), HasSubstr("GrowthEnded"));
  EXPECT_THAT(EventReasons(plan), Not(HasSubstr("SaveRequested")));
  EXPECT_THAT(OrderTexts(plan), Not(HasSubstr("Save")));
}

TEST_F(GrowTest, TheLastOfTheExtraWorkersIsLostAlone) {
  Grow();
  world_.view.pods[3].phase = PodPhase::kFailed;
  world_.Decide();
  EXPECT_EQ(Elastic().workers(), 3);
  world_.Advance(absl::Seconds(5));
  world_.Decide();
  EXPECT_EQ(world_.memory.members.size(), 3u);
}

TEST_F(GrowTest, AnExtraWorkerLeavesANodeThatGoesAwayAndIsNotReplaced) {
  Grow();
  world_.view.pods[3].node_taints.push_back({"ToBeDeletedByClusterAutoscaler", "", "NoSchedule"});
  const Plan plan = world_.Decide();
  EXPECT_EQ(Elastic().workers(), 3);
  EXPECT_EQ(OrderTexts(plan), "Prepare:0 Prepare:1 Prepare:2");
  EXPECT_THAT(plan.creates, IsEmpty());
}

TEST_F(GrowTest, ALoweredMaximumTakesWorkersBack) {
  Grow();
  world_.view.spec.mutable_workers()->set_max(3);
  EXPECT_EQ(OrderTexts(world_.Decide()), "Prepare:0 Prepare:1 Prepare:2");
  EXPECT_EQ(Elastic().workers(), 3);
}

TEST_F(GrowTest, AJobWhoseQueueTookWorkersWantsNoMore) {
  Order(1, "Reclaimed", "shrinks to 1 workers for team/large");
  EXPECT_EQ(Elastic().reason(), "TakenByQueue");
  EXPECT_FALSE(Elastic().has_wanted());
}

TEST_F(GrowTest, AStopTakesTheExtraWorkersToo) {
  Grow();
  Order(0, "Priority", "stops for team/large");
  EXPECT_FALSE(Elastic().has_workers());
  EXPECT_EQ(OrderTexts(world_.Decide()), "Stop:0 Stop:1 Stop:2 Stop:3");
}

}  // namespace
}  // namespace muster::control
