#include "operator/core/leave/slow_links.h"

#include <memory>
#include <string>
#include <variant>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "operator/core/testing/spot_fixture.h"
#include "operator/core/testing/test_world.h"

namespace muster::control {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

// Workers of one rank on nodes of their own, whose links are tested.
TestWorld World(int count, int min, const std::string& mode) {
  TestWorld world(count);
  world.view.spec.mutable_workers()->set_min(min);
  world.view.spec.mutable_trainer()->mutable_train()->set_steps(100);
  world.view.spec.mutable_topology()->set_link_test(mode);
  world.AddWorkers();
  for (PodView& pod : world.view.pods) pod.node = absl::StrCat("node-", pod.index);
  return world;
}

// Lets every agent answer Prepare; returns the plan with the orders to go.
Plan Ready(TestWorld& world, bool can_test = true) {
  for (AgentView& agent : world.view.agents) {
    v1alpha1::RankReady rank;
    rank.set_tests_links(can_test);
    agent.seen = world.memory.id;
    agent.ready = ReadyReport{world.memory.id, {rank}};
  }
  return world.Decide();
}

// Lets every agent join; the first of each pair has measured the link, of 1 GB/s, or a tenth of
// that to and from `slow`.
Plan Join(TestWorld& world, int slow) {
  const int count = static_cast<int>(world.view.agents.size());
  for (int rank = 0; rank < count; ++rank) {
    JoinedReport report = Joined(world.memory);
    for (int peer = rank + 1; peer < count; ++peer) {
      report.links.push_back({rank, peer, rank == slow || peer == slow ? 1e8 : 1e9});
    }
    world.view.agents[rank].joined = report;
  }
  return world.Decide();
}

const v1alpha1::GoRound* GoOf(const Plan& plan) {
  for (const Order& order : plan.orders) {
    if (const auto* go = std::get_if<GoOrder>(&order.what)) return go->go.get();
  }
  return nullptr;
}

std::string Messages(const Plan& plan) {
  std::string text;
  for (const Event& event : plan.events)
    absl::StrAppend(&text, event.reason, ": ", event.message, "\n");
  return text;
}

bool IsTested(const Plan& plan) {
  const v1alpha1::GoRound* go = GoOf(plan);
  EXPECT_NE(go, nullptr) << OrderTexts(plan);
  return go != nullptr && go->has_link_test();
}

// Replaces the worker by its next incarnation on `node`; the round under way is over. Returns the
// plan with the orders to go of the next one.
Plan Replace(TestWorld& world, int index, const std::string& node) {
  for (int i = 0; i < 5 && world.view.status.incarnations(index) < 2; ++i) {
    world.Advance(absl::Seconds(1));
    world.Decide();
  }
  std::erase_if(world.view.pods, [&](const PodView& pod) { return pod.index == index; });
  world.Decide();
  world.AddPod(index).node = node;
  AgentView agent = world.AddAgent(index);
  world.view.agents.pop_back();
  world.view.agents[index] = agent;
  for (int i = 0; i < 5; ++i) {
    world.Advance(absl::Seconds(2));
    const Plan plan = world.Decide();
    if (!plan.orders.empty() && std::holds_alternative<PrepareOrder>(plan.orders[0].what)) {
      return Ready(world);
    }
  }
  ADD_FAILURE() << "no other round";
  return {};
}

// Stalls the round, and waits for the next one to be prepared.
void Stall(TestWorld& world) {
  StallReport stall;
  stall.round = world.memory.id;
  world.view.agents[0].stalls.push_back(stall);
  for (int i = 0; i < 5 && world.memory.phase != RoundPhase::kPreparing; ++i) {
    world.Decide();
    world.Advance(absl::Seconds(2));
  }
}

TEST(SlowLinksTest, TheFirstRoundIsTestedAndASlowWorkerIsNamedWithItsNodeAndSpeeds) {
  TestWorld world = World(4, 2, "Report");
  world.Decide();
  const Plan plan = Ready(world);
  ASSERT_TRUE(IsTested(plan));
  EXPECT_EQ(GoOf(plan)->link_test().ranks_size(), 4);
  EXPECT_EQ(GoOf(plan)->link_test().hold_seconds(), 0);
  EXPECT_THAT(Messages(Join(world, 2)),
              HasSubstr("SlowWorker: worker 2 on node node-2 has 0.1 GB/s where other workers have "
                        "1 GB/s on 3 of 3 tested links: it stays, because topology.linkTest is "
                        "Report\n"));
  EXPECT_EQ(world.Condition(ConditionType::kRunning), "True/RoundActive");
  EXPECT_EQ(world.view.status.workers().leaving_size(), 0);
  EXPECT_THAT(EventReasons(world.Decide()), IsEmpty()) << "it is told once";
}

// Expects that the worker is told to leave before any rank has made a step.
void ExpectExcluded(const Plan& plan) {
  EXPECT_THAT(Messages(plan), HasSubstr("tested links: it leaves the node\n"));
  EXPECT_THAT(Messages(plan), HasSubstr("MembershipChanged: worker 2 leaves its node"));
  EXPECT_THAT(Messages(plan), Not(HasSubstr("RoundActive")));
  EXPECT_THAT(OrderTexts(plan), Not(HasSubstr("Go:")));
}

TEST(SlowLinksTest, WithExcludeTheWorkerLeavesItsNodeBeforeTheFirstStep) {
  TestWorld world = World(4, 4, "Exclude");
  world.Decide();
  EXPECT_GT(GoOf(Ready(world))->link_test().hold_seconds(), 0);
  Plan plan = Join(world, 2);
  ExpectExcluded(plan);
  world.view.pods.erase(world.view.pods.begin() + 2);
  for (int i = 0; i < 5 && plan.creates.empty(); ++i) {
    world.Advance(absl::Seconds(1));
    plan = world.Decide();
  }
  ASSERT_EQ(plan.creates.size(), 1u);
  EXPECT_EQ(plan.creates[0].avoided_node, "node-2");
  EXPECT_EQ(world.view.status.failures().count(), 0);
}

TEST(SlowLinksTest, AJobThatMayBeSmallerStartsWithoutTheWorkerAtOnce) {
  TestWorld world = World(4, 3, "Exclude");
  world.Decide();
  Ready(world);
  const Plan plan = Join(world, 2);
  ExpectExcluded(plan);
  EXPECT_EQ(OrderTexts(plan), "Prepare:0 Prepare:1 Prepare:3");
}

TEST(SlowLinksTest, WorkersThatWaitForTheVerdictStepWhenItIsGood) {
  TestWorld world = World(3, 2, "Exclude");
  world.Decide();
  const std::string go = GoOf(Ready(world))->SerializeAsString();
  const Plan plan = Join(world, -1);
  EXPECT_THAT(Messages(plan), HasSubstr("RoundActive"));
  EXPECT_EQ(OrderTexts(plan), "Go:0 Go:1 Go:2");
  EXPECT_EQ(GoOf(plan)->SerializeAsString(), go) << "one round has one order to go";
}

TEST(SlowLinksTest, AWorkerThatFindsNoOtherNodeIsNamedAgainAndTrainsThere) {
  TestWorld world = World(4, 4, "Exclude");
  world.Decide();
  Ready(world);
  Join(world, 2);
  ASSERT_TRUE(IsTested(Replace(world, 2, "node-2"))) << "the new pod was in no test";
  const Plan plan = Join(world, 2);
  EXPECT_THAT(Messages(plan), HasSubstr("it stays, because the job has left this node before"));
  EXPECT_THAT(Messages(plan), HasSubstr("RoundActive"));
}

TEST(SlowLinksTest, AJobLeavesAQuarterOfAsManyNodesAsItHasWorkers) {
  TestWorld world = World(4, 4, "Exclude");
  world.Decide();
  Ready(world);
  Join(world, 2);
  Replace(world, 2, "node-9");
  EXPECT_THAT(Messages(Join(world, 1)),
              HasSubstr("it stays, because the job has left 1 nodes already"));
}

TEST(SlowLinksTest, MembersThatWereTestedTogetherAreNotTestedAgain) {
  TestWorld world = World(3, 2, "Report");
  world.Decide();
  Ready(world);
  Join(world, -1);
  Stall(world);
  EXPECT_FALSE(IsTested(Ready(world)));
}

TEST(SlowLinksTest, NothingIsTestedWhereItIsNotWantedOrNotPossible) {
  const auto tested = [](TestWorld world, bool can_test = true) {
    world.Decide();
    return IsTested(Ready(world, can_test));
  };
  EXPECT_TRUE(tested(World(3, 2, "Report")));
  EXPECT_FALSE(tested(World(3, 2, "")));
  EXPECT_FALSE(tested(World(2, 2, "Report"))) << "two workers have nothing to compare with";
  EXPECT_FALSE(tested(World(3, 2, "Report"), false)) << "ranks of an older version";
}

TEST(SlowLinksTest, ANewLeaderDoesNotTestARoundThatItAdopts) {
  TestWorld world = World(3, 2, "Report");
  world.Decide();
  Ready(world);
  Join(world, -1);
  ChangeLeaders(world);
  world.Advance(absl::Seconds(1));
  world.Decide();
  ASSERT_EQ(world.Condition(ConditionType::kRunning), "True/RoundAdopted");
  world.Decide();
  Stall(world);
  EXPECT_FALSE(IsTested(Ready(world)));
}

}  // namespace
}  // namespace muster::control
