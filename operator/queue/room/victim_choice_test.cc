// Tests of the choice of victims: minimum run times, near ends, the jobs that a stopped job stops
// in turn, and victims of both kinds at once.
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
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
using Names = std::set<std::string>;

// Jobs that were told to go in the last cycle.
Names Told(const World& world) {
  Names told;
  for (const Decision& decision : world.last) {
    const bool goes = decision.action == A::kStop || decision.action == A::kShrink;
    if (goes) told.insert(decision.job);
  }
  return told;
}

QueuedJob Of(QueuedJob job, int64_t priority) {
  job.priority = priority;
  return job;
}

class MinRuntime : public testing::Test {
 protected:
  static QueueSpec Protected(QueueSpec queue) {
    queue.min_runtime = absl::Minutes(10);
    return queue;
  }
};

TEST_F(MinRuntime, ABorrowerIsLeftAloneUntilItHasRunForIt) {
  World world(Racks(1, 1), {Queue("a", "c", 8), Protected(Queue("b", "c", 0))});
  world.Submit(Job("borrower", "b", 1));
  world.Cycle();
  world.now = At(100);
  world.Submit(Job("owner", "a", 1, 8, 100, 100));
  world.Cycle();
  EXPECT_EQ(Told(world), Names());
  EXPECT_EQ(world.Of("owner").reason, R::kQuotaExhausted);
  const std::string sentence = Sentence(world.Of("owner"), world.now);
  EXPECT_TRUE(absl::StrContains(sentence, "minRuntime; the first will have in 8m20s")) << sentence;
  const StartForecast forecast =
      ForecastStart(Capture(world.now, world.tree, world.book, world.options, {}), "owner");
  EXPECT_EQ(forecast.kind, StartKind::kAt);
  EXPECT_EQ(forecast.at, At(660)) << "ten minutes, and the grace";
  world.now = At(600);
  world.Cycle();
  EXPECT_EQ(Told(world), Names{"borrower"});
  world.LetLeaversGo();
  world.Cycle();
  ASSERT_TRUE(world.Runs("owner"));
  // The minimum run time counts from the newest start.
  world.now = At(700);
  world.Finish("owner");
  world.Cycle();
  ASSERT_TRUE(world.Runs("borrower"));
  world.now = At(1299);
  world.Submit(Job("again", "a", 1, 8, 0, 1299));
  world.Cycle();
  EXPECT_EQ(Told(world), Names());
  world.now = At(1300);
  world.Cycle();
  EXPECT_EQ(Told(world), Names{"borrower"});
}

TEST_F(MinRuntime, ItHoldsWithinAQueueAndForShrinkingAndMovingToo) {
  World world(Racks(1, 2), {Protected(Queue("a", "", 16))});
  QueuedJob low = Job("low", "a", 2);
  low.request.min = 1;
  world.Submit(low);
  world.Cycle();
  world.now = At(599);
  world.Submit(Of(Job("high", "a", 1, 8, 0, 599), 10));
  world.Cycle();
  EXPECT_EQ(Told(world), Names());
  world.now = At(600);
  world.Cycle();
  EXPECT_EQ(Told(world), Names{"low"});
  World moved(Racks(2, 2), {Protected(Queue("a", "", 64))});
  moved.options.defragment = true;
  for (const int rack : {0, 1}) {
    QueuedJob small = Job(absl::StrCat("small-", rack), "a", 1);
    small.nodes = {absl::StrCat("r", rack, "-n0")};
    moved.tree.Charge(*moved.tree.FindNode(small.nodes[0]), small.request.per_worker);
    small.started = At(0);
    moved.Submit(small);
  }
  QueuedJob large = Job("large", "a", 2, 8, 0, 1);
  large.request.required_level = "rack";
  moved.Submit(large);
  moved.now = At(599);
  moved.Cycle();
  EXPECT_EQ(Told(moved), Names());
  moved.now = At(600);
  moved.Cycle();
  EXPECT_EQ(Told(moved).size(), 1u);
}

// The job has trained for ten hours and ends before a stop would be over.
TEST(NearEnds, WhatEndsSoonerThanAStopTakesIsNotStopped) {
  for (const double left : {5.0, 600.0}) {
    World world(Racks(1, 4), {Queue("a", "c", 32), Queue("b", "c", 0)});
    world.Submit(Job("gang", "b", 4, 8, 36'000 + left));
    world.Cycle();
    world.now = At(36'000);
    world.Submit(Job("newcomer", "a", 1, 8, 0, 36'000));
    world.Cycle();
    EXPECT_EQ(Told(world), left < 60 ? Names() : Names{"gang"});
    EXPECT_EQ(world.Of("newcomer").numbers.expected_start, At(36'000 + (left < 60 ? left : 60)));
    if (left > 60) continue;
    world.now = At(36'005);
    world.Finish("gang");
    world.Cycle();
    EXPECT_TRUE(world.Runs("newcomer"));
  }
}

TEST(FollowUps, AnOwnJobThatWouldReclaimInTurnIsNotTheCheapest) {
  World world(Racks(1, 4), {Queue("a", "c", 24), Queue("b", "c", 8)});
  for (const char* uid : {"b0", "b1"}) world.Submit(Job(uid, "b", 1));
  world.Submit(Of(Job("cheap", "a", 1), 0));
  world.Submit(Of(Job("other", "a", 1), 10));
  world.Cycle();
  world.now = At(3'660);
  world.book.Progress("cheap", At(160), std::nullopt);
  world.Submit(Of(Job("newcomer", "a", 1, 8, 0, 3'660), 10));
  int stops = 0;
  for (int cycle = 0; cycle < 4; ++cycle) {
    world.Cycle();
    const Names told = Told(world);
    stops += static_cast<int>(told.size());
    EXPECT_FALSE(told.contains("cheap")) << "it would stop a borrower in turn";
    world.LetLeaversGo();
  }
  EXPECT_EQ(stops, 1);
  EXPECT_TRUE(world.Runs("newcomer"));
  EXPECT_TRUE(world.Runs("cheap"));
}

TEST(FollowUps, AnOwnJobThatWouldPreemptInTurnIsNotTheCheapest) {
  World world(Racks(1, 2), {Queue("a", "", 16)});
  world.Submit(Of(Job("middle", "a", 1), 5));
  world.Submit(Of(Job("low", "a", 1), 0));
  world.Cycle();
  world.now = At(1'000);
  world.book.Progress("middle", At(900), std::nullopt);
  world.Submit(Of(Job("newcomer", "a", 1, 8, 0, 1'000), 10));
  world.Cycle();
  EXPECT_EQ(Told(world), Names{"low"});
  world.LetLeaversGo();
  world.Cycle();
  EXPECT_TRUE(world.Runs("newcomer"));
  EXPECT_EQ(Told(world), Names());
}

// Jobs of lower priority in its own queue use one part of its nominal quota, borrowers the other.
TEST(BothKinds, OwnLowerPriorityAndBorrowersGoTogether) {
  for (const bool never : {false, true}) {
    QueueSpec a = Queue("a", "c", 24);
    if (never) a.preempt_within_queue = PreemptWithinQueue::kNever;
    World world(Racks(1, 4), {a, Queue("b", "c", 8)});
    world.Submit(Job("own", "a", 1));
    for (const char* uid : {"b0", "b1", "b2"}) world.Submit(Job(uid, "b", 1, 8, 0, 1));
    world.Cycle();
    world.now = At(100);
    world.Submit(Of(Job("newcomer", "a", 3, 8, 0, 100), 10));
    world.Cycle();
    const Names told = Told(world);
    if (never) {
      EXPECT_EQ(told, Names()) << "beyond nominal quota nothing is taken back";
      continue;
    }
    EXPECT_EQ(told.size(), 3u);
    EXPECT_TRUE(told.contains("own"));
    EXPECT_EQ(world.Of("own").reason, R::kPriority);
    world.LetLeaversGo();
    world.Cycle();
    EXPECT_TRUE(world.Runs("newcomer"));
  }
}

}  // namespace
}  // namespace muster::control
