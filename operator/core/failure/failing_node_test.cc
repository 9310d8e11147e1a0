#include "operator/core/failure/failing_node.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "operator/core/testing/spot_fixture.h"
#include "operator/core/testing/test_world.h"

namespace muster::control {
namespace {

using ::testing::HasSubstr;

// A job with workers on the nodes node-0, node-1 and node-2 that can train without one of them.
TestWorld World() {
  TestWorld world = ActiveWorld(3, 2);
  for (PodView& pod : world.view.pods) pod.node = absl::StrCat("node-", pod.index);
  Write(world, 10);
  world.Decide();
  return world;
}

// Rank `rank` is killed in the round under way, its process starts again, and the next round
// trains. Returns the plan after the failure.
Plan Kill(TestWorld& world, int rank) {
  world.Advance(absl::Seconds(20));
  ExitReport exit;
  exit.round = world.memory.id;
  exit.rank = rank;
  exit.exit_code = 137;
  exit.signal = 9;
  exit.restarted = true;
  exit.reason = "Signaled";
  world.view.agents[static_cast<size_t>(rank)].exits = {exit};
  const Plan plan = world.Decide();
  world.Advance(absl::Seconds(5));
  world.Decide();
  world.JoinRound();
  world.Decide();
  return plan;
}

bool Leaves(const TestWorld& world, int index) {
  for (const auto& leaving : world.view.status.workers().leaving()) {
    if (leaving.index() == index) return true;
  }
  return world.view.status.incarnations(index) > 1;
}

TEST(FailingNodeTest, AWorkerLeavesANodeOnWhichTheJobHasFailedTwice) {
  TestWorld world = World();
  Kill(world, 1);
  EXPECT_FALSE(Leaves(world, 1)) << "once may be chance";
  Kill(world, 1);
  world.Decide();
  ASSERT_TRUE(Leaves(world, 1));
  EXPECT_EQ(world.memory.workers[1].move.node, "node-1");
  EXPECT_THAT(world.memory.workers[1].move.why,
              HasSubstr("the job has failed 2 times on it within 1h, and on no other"));
}

TEST(FailingNodeTest, NobodyMovesIfTheJobFailsElsewhereTooOrLongAgoOrHasOneNode) {
  TestWorld elsewhere = World();
  Kill(elsewhere, 0);
  Kill(elsewhere, 1);
  Kill(elsewhere, 1);
  EXPECT_FALSE(Leaves(elsewhere, 1));

  TestWorld long_ago = World();
  Kill(long_ago, 1);
  long_ago.Advance(absl::Hours(2));
  for (AgentView& agent : long_ago.view.agents) agent.last_heard = long_ago.view.now;
  Kill(long_ago, 1);
  EXPECT_FALSE(Leaves(long_ago, 1));

  TestWorld one_node = World();
  for (PodView& pod : one_node.view.pods) pod.node = "node-1";
  Kill(one_node, 1);
  Kill(one_node, 1);
  EXPECT_FALSE(Leaves(one_node, 1));
}

}  // namespace
}  // namespace muster::control
