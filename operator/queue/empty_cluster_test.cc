#include "operator/queue/empty_cluster.h"

#include <gtest/gtest.h>

#include <string>

#include "absl/strings/match.h"
#include "operator/placement/gang_nodes.h"
#include "operator/queue/book/decision.h"
#include "operator/queue/decision_input.h"
#include "operator/queue/forecast/forecast.h"
#include "operator/queue/queue_fixtures.h"

namespace muster::control {
namespace {

using fixtures::At;
using fixtures::Job;
using fixtures::Queue;
using fixtures::Racks;
using fixtures::World;
using A = ScheduleAction;
using R = ScheduleReason;

QueuedJob InOneRack(QueuedJob job) {
  job.request.required_level = "rack";
  return job;
}

TEST(EmptyCluster, NodesCountWholeWhateverRunsThere) {
  Inventory nodes = Racks(2, 4);
  for (NodeInventory& node : nodes.nodes) {
    node.free = {};
    node.schedulable = false;
  }
  EmptyCluster empty(nodes);
  EXPECT_TRUE(empty.HasPlaceFor(InOneRack(Job("a", "", 4)).request));
  EXPECT_FALSE(empty.HasPlaceFor(InOneRack(Job("b", "", 5)).request));
  EXPECT_TRUE(empty.HasPlaceFor(Job("c", "", 8).request));
  EXPECT_FALSE(empty.HasPlaceFor(Job("d", "", 9).request));
  EXPECT_FALSE(empty.HasPlaceFor(Job("e", "", 1, 9).request));
}

TEST(EmptyCluster, APodsNodesAndAnElasticJobsLeastSizeCount) {
  EmptyCluster empty(Racks(2, 4));
  QueuedJob elastic = InOneRack(Job("a", "", 8));
  elastic.request.min = 4;
  EXPECT_TRUE(empty.HasPlaceFor(elastic.request));
  const GangNodes without{{0, 4}, {}, ""};
  EXPECT_FALSE(empty.Knows(elastic.request, "not on two"));
  EXPECT_FALSE(empty.HasPlaceFor(elastic.request, "not on two", &without));
  EXPECT_TRUE(empty.Knows(elastic.request, "not on two"));
  EXPECT_TRUE(empty.HasPlaceFor(elastic.request)) << "the nodes are as they were";
}

TEST(EmptyCluster, WhatIsInvalidIsNotCalledTooLarge) {
  EmptyCluster empty(Racks(1, 1));
  QueuedJob job = Job("a", "", 1);
  job.request.required_level = "moon";
  EXPECT_TRUE(empty.HasPlaceFor(job.request));
}

// The head can never have room: the job behind it takes back what is its queue's.
TEST(FitsNowhere, AHeadWithoutHopeLeavesReclaimPreemptionAndReservationToTheNext) {
  for (const bool flagged : {false, true}) {
    World world(Racks(1, 4), {Queue("a", "c", 40), Queue("b", "c", 0)});
    world.Submit(Job("borrower", "b", 4));
    world.Cycle();
    ASSERT_TRUE(world.Runs("borrower"));
    QueuedJob wide = Job("wide", "a", 5, 8, 0, 1);
    wide.fits_nowhere = flagged;
    wide.priority = 100;
    world.Submit(wide);
    world.Submit(Job("next", "a", 2, 8, 0, 2));
    world.now = At(10);
    world.Cycle();
    EXPECT_EQ(world.Of("wide").reason, flagged ? R::kFitsNowhere : R::kQuotaExhausted);
    EXPECT_EQ(world.Of("next").reason, flagged ? R::kWaitingForVictims : R::kQuotaExhausted);
    EXPECT_EQ(world.Of("borrower").action, flagged ? A::kStop : A::kWait);
    world.LetLeaversGo();
    world.Cycle();
    EXPECT_EQ(world.Runs("next"), flagged);
  }
}

TEST(FitsNowhere, HoldsUpNobodyAndSaysSo) {
  World world(Racks(1, 4), {Queue("a", "", 64)});
  QueuedJob wide = Job("wide", "a", 5);
  wide.fits_nowhere = true;
  world.Submit(wide);
  for (int i = 0; i < 4; ++i)
    world.Submit(Job("endless-" + std::to_string(i), "a", 1, 8, 0, 1 + i));
  world.Cycle();
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(world.Of("endless-" + std::to_string(i)).reason, R::kWithinQuota) << i;
  }
  const std::string sentence = Sentence(world.Of("wide"), world.now);
  EXPECT_TRUE(absl::StrContains(sentence, "would not fit even if all nodes that exist"))
      << sentence;
  EXPECT_TRUE(absl::StrContains(sentence, "room for 4 of at least 5 workers")) << sentence;
  EXPECT_FALSE(world.book.Memory(world.now).reserved_since.count("wide"));
  // The flag does not keep a job from starting once there are nodes for it.
  World larger(Racks(1, 5), {Queue("a", "", 64)});
  larger.Submit(wide);
  larger.Cycle();
  EXPECT_TRUE(larger.Runs("wide"));
}

// Nodes alone would not help the job, so an autoscaler is not asked for any.
TEST(FitsNowhere, OneThatItsQueueHasNoQuotaForWaitsForThatFirst) {
  World world(Racks(1, 4), {Queue("a", "c", 8), Queue("b", "c", 32)});
  world.Submit(Job("b0", "b", 4));
  world.Cycle();
  QueuedJob wide = Job("wide", "a", 5, 8, 0, 1);
  wide.fits_nowhere = true;
  world.Submit(wide);
  world.Cycle();
  EXPECT_EQ(world.Of("wide").reason, R::kQuotaExhausted);
  EXPECT_FALSE(world.book.Memory(world.now).reserved_since.count("wide"));
}

TEST(FitsNowhere, AForecastSaysThatThereIsNoRoom) {
  World world(Racks(1, 4), {Queue("a", "", 64)});
  QueuedJob wide = Job("wide", "a", 5);
  wide.fits_nowhere = true;
  world.Submit(wide);
  const DecisionInput input = Capture(world.now, world.tree, world.book, world.options, {});
  EXPECT_EQ(ForecastStart(input, "wide").kind, StartKind::kNoRoom);
}

}  // namespace
}  // namespace muster::control
