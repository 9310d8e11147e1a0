#include "operator/queue/room/defragmentation.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "operator/queue/queue_fixtures.h"

namespace muster::control {
namespace {

using fixtures::At;
using fixtures::Job;
using fixtures::Racks;
using fixtures::World;
using A = ScheduleAction;
using R = ScheduleReason;

// Racks of two nodes without queues, so that only defragmentation moves jobs.
class Defragmentation : public testing::Test {
 protected:
  explicit Defragmentation(int racks = 2) : world_(Racks(racks, 2), {}) {
    world_.options.defragment = true;
  }

  // Runs a job since the beginning, with one worker on each of these nodes.
  void Run(const std::string& uid, const std::vector<std::string>& nodes,
           std::optional<double> ends = std::nullopt, int gpus = 8) {
    QueuedJob job = Job(uid, "", static_cast<int>(nodes.size()), gpus);
    job.nodes = nodes;
    if (ends) job.ends = At(*ends);
    for (const std::string& node : nodes) {
      world_.tree.Charge(*world_.tree.FindNode(node), job.request.per_worker);
    }
    world_.Submit(job);
  }
  // Submits a job that needs a whole rack.
  void SubmitLarge(int gpus = 8) {
    QueuedJob large = Job("large", "", 2, gpus, 0, 1);
    large.request.required_level = "rack";
    world_.Submit(large);
  }
  void ExpectNobodyMoves() {
    for (const Decision& decision : world_.last) EXPECT_NE(decision.action, A::kStop);
    EXPECT_EQ(world_.Of("large").reason, R::kTopology);
  }

  World world_;
};

TEST_F(Defragmentation, IsOffByDefault) {
  world_.options = {};
  Run("small-0", {"r0-n0"});
  Run("small-1", {"r1-n0"});
  SubmitLarge();
  world_.Cycle();
  ExpectNobodyMoves();
}

TEST_F(Defragmentation, WhatHasAPlaceElsewhereMoves) {
  Run("small-0", {"r0-n0"});
  Run("small-1", {"r1-n0"});
  SubmitLarge();
  world_.Cycle();
  EXPECT_EQ(world_.Of("large").reason, R::kWaitingForVictims);
  EXPECT_EQ(world_.Of("small-0").reason, R::kDefragmented);
  EXPECT_EQ(world_.Of("small-0").numbers.cost, 8 * 120) << "the restart";
  EXPECT_EQ(world_.Of("small-0").numbers.gain, 16 * 24 * 3600) << "a day at most";
  EXPECT_EQ(world_.Of("small-1").job, "");
  world_.LetLeaversGo();
  world_.Cycle();
  EXPECT_TRUE(world_.Runs("large"));
  EXPECT_EQ(world_.book.Find("small-0")->nodes, std::vector<std::string>{"r1-n1"});
}

// Stopping eight GPUs for two minutes is worth the wait of sixteen for more than one.
TEST_F(Defragmentation, WhatCostsAsMuchAsItGainsDoesNotMove) {
  Run("small-0", {"r0-n0"}, 60);
  Run("small-1", {"r1-n0"}, 60);
  SubmitLarge();
  world_.Cycle();
  EXPECT_EQ(world_.Of("large").numbers.expected_start, At(60));
  ExpectNobodyMoves();
}

TEST_F(Defragmentation, WhatCostsLessThanItGainsMoves) {
  Run("small-0", {"r0-n0"}, 61);
  Run("small-1", {"r1-n0"}, 61);
  SubmitLarge();
  world_.Cycle();
  EXPECT_EQ(world_.Of("small-0").reason, R::kDefragmented);
  EXPECT_EQ(world_.Of("small-0").numbers.gain, 16 * 61);
}

TEST_F(Defragmentation, WhatFitsNowhereElseDoesNotMove) {
  for (const std::string rack : {"r0", "r1"}) {
    Run("whole-" + rack, {rack + "-n0"});
    Run("most-" + rack, {rack + "-n1"}, std::nullopt, 5);
  }
  // Two workers of three GPUs fit where one of five has left; one of five fits in no gap of three.
  SubmitLarge(3);
  world_.Cycle();
  ExpectNobodyMoves();
}

TEST_F(Defragmentation, AnElasticJobMovesWithAllItsWorkers) {
  Run("elastic", {"r0-n0", "r1-n0"});
  QueuedJob elastic = *world_.book.Find("elastic");
  elastic.request.min = 1;
  world_.Submit(elastic);
  SubmitLarge();
  world_.Cycle();
  EXPECT_EQ(world_.Of("elastic").action, A::kStop);
  EXPECT_EQ(world_.Of("elastic").reason, R::kDefragmented);
  world_.LetLeaversGo();
  world_.Cycle();
  EXPECT_TRUE(world_.Runs("large"));
  EXPECT_EQ(world_.Workers("elastic"), 2);
}

// One of its workers would have a place, but it runs with more.
TEST_F(Defragmentation, AnElasticJobThatWouldBeSmallerDoesNotMove) {
  for (const std::string rack : {"r0", "r1"}) Run("whole-" + rack, {rack + "-n0"});
  Run("elastic", {"r0-n1", "r1-n1"}, std::nullopt, 5);
  QueuedJob elastic = *world_.book.Find("elastic");
  elastic.request.min = 1;
  world_.Submit(elastic);
  SubmitLarge(3);
  world_.Cycle();
  ExpectNobodyMoves();
}

}  // namespace
}  // namespace muster::control
