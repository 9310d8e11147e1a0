#include "operator/queue/room/room_plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
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

// A cluster of nodes that hold one job each; `mine` and `theirs` are the queues' quotas in nodes.
World Nodes(int nodes, int mine, int theirs, ReclaimFrom reclaim = ReclaimFrom::kAny) {
  std::vector<QueueSpec> queues = {Queue("mine", "c", 8 * mine), Queue("theirs", "c", 8 * theirs)};
  queues[0].reclaim = reclaim;
  return World(Racks(1, nodes), queues);
}

QueuedJob Elastic(const std::string& uid, const std::string& queue, int min, int max) {
  QueuedJob job = Job(uid, queue, max);
  job.request.min = min;
  return job;
}

// Runs this many borrowing jobs of one worker.
void Borrow(World& world, int jobs) {
  for (int i = 0; i < jobs; ++i) world.Submit(Job(absl::StrCat("b", i), "theirs", 1, 8, 0, i));
  world.Cycle();
  world.now = At(1000);
}

int Stopped(const World& world) {
  int stopped = 0;
  for (const Decision& decision : world.last) stopped += decision.action == A::kStop;
  return stopped;
}

TEST(RoomPlan, ANewcomerTakesBackAllOfItsNominalQuotaNotOnlyItsLeast) {
  World world = Nodes(4, 2, 2);
  world.Submit(Elastic("borrower", "theirs", 1, 4));
  world.Cycle();
  ASSERT_EQ(world.Workers("borrower"), 4);
  world.now = At(1000);
  world.Submit(Elastic("newcomer", "mine", 1, 2));
  world.Cycle();
  EXPECT_EQ(world.Of("borrower").action, A::kShrink);
  EXPECT_EQ(world.Of("borrower").workers, 2);
  EXPECT_EQ(world.Of("newcomer").reason, R::kWaitingForVictims);
  EXPECT_EQ(world.Of("newcomer").workers, 2);
  world.LetLeaversGo();
  world.Cycle();
  EXPECT_EQ(world.Of("newcomer").action, A::kStart);
  EXPECT_EQ(world.Workers("newcomer"), 2);
}

TEST(RoomPlan, BeyondNominalQuotaNobodyGoes) {
  World world = Nodes(4, 1, 3);
  world.Submit(Elastic("borrower", "theirs", 1, 4));
  world.Cycle();
  world.now = At(1000);
  world.Submit(Elastic("newcomer", "mine", 1, 3));
  world.Cycle();
  EXPECT_EQ(world.Of("borrower").workers, 3);
  EXPECT_EQ(world.Of("newcomer").workers, 1);
}

TEST(RoomPlan, AJobThatCouldStartSmallerWaitsForItsNominalQuota) {
  World world = Nodes(4, 2, 2);
  Borrow(world, 3);
  world.Submit(Elastic("newcomer", "mine", 1, 2));
  world.Cycle();
  EXPECT_EQ(Stopped(world), 1);
  EXPECT_EQ(world.Of("newcomer").reason, R::kWaitingForVictims);
  // The victims are told once.
  world.Cycle();
  EXPECT_EQ(Stopped(world), 0);
  EXPECT_EQ(world.Of("newcomer").reason, R::kWaitingForVictims);
  world.LetLeaversGo();
  world.Cycle();
  EXPECT_EQ(world.Workers("newcomer"), 2);
}

TEST(RoomPlan, AJobThatMayNotReclaimStartsWithWhatIsFree) {
  World world = Nodes(4, 2, 2, ReclaimFrom::kNever);
  Borrow(world, 3);
  world.Submit(Elastic("newcomer", "mine", 1, 2));
  world.Cycle();
  EXPECT_EQ(Stopped(world), 0);
  EXPECT_EQ(world.Workers("newcomer"), 1);
}

TEST(RoomPlan, TheLargestSizeThatBorrowersLeaveIsFound) {
  World world = Nodes(5, 5, 0, ReclaimFrom::kLowerPriority);
  for (int i = 0; i < 5; ++i) {
    QueuedJob job = Job(absl::StrCat("b", i), "theirs", 1, 8, 0, i);
    job.priority = i < 3 ? 0 : 100;
    world.Submit(job);
  }
  world.Cycle();
  world.now = At(1000);
  QueuedJob newcomer = Elastic("newcomer", "mine", 1, 5);
  newcomer.priority = 50;
  world.Submit(newcomer);
  world.Cycle();
  EXPECT_EQ(Stopped(world), 3);
  EXPECT_EQ(world.Of("newcomer").workers, 3);
}

TEST(RoomPlan, InItsOwnQueueOnlyAsManyGoAsItsLeastSizeNeeds) {
  World world(Racks(1, 2), {Queue("mine", "", 32)});
  for (int i = 0; i < 2; ++i) world.Submit(Job(absl::StrCat("low", i), "mine", 1, 8, 0, i));
  world.Cycle();
  world.now = At(10);
  QueuedJob newcomer = Elastic("newcomer", "mine", 1, 2);
  newcomer.priority = 50;
  world.Submit(newcomer);
  world.Cycle();
  EXPECT_EQ(Stopped(world), 1);
  EXPECT_EQ(world.Of("newcomer").workers, 1);
}

// A job that shrank would otherwise grow again into the first place that is given back.
TEST(RoomPlan, WhatIsGivenBackOneByOneIsKeptForTheNewcomer) {
  World world = Nodes(4, 2, 2);
  Borrow(world, 4);
  world.Submit(Elastic("newcomer", "mine", 1, 2));
  world.Cycle();
  ASSERT_EQ(Stopped(world), 2);
  const std::string first = world.last[0].action == A::kStop ? world.last[0].job : "b0";
  world.Finish(first);
  world.Submit(Job("late", "theirs", 1, 8, 0, 2000));
  world.Cycle();
  EXPECT_FALSE(world.Runs("late"));
  EXPECT_EQ(world.Of("newcomer").reason, R::kWaitingForVictims);
  world.LetLeaversGo();
  world.Cycle();
  EXPECT_EQ(world.Workers("newcomer"), 2);
  EXPECT_FALSE(world.Runs("late"));
}

TEST(RoomPlan, NoLargerSizeWouldHaveHadRoom) {
  std::mt19937 random(7);
  auto pick = [&random](int n) { return static_cast<int>(random() % n); };
  int between = 0;
  for (int round = 0; round < 200; ++round) {
    const int nodes = 3 + pick(6);
    World world = Nodes(nodes, nodes - pick(3), pick(2), ReclaimFrom::kLowerPriority);
    for (int i = 0; i < nodes; ++i) {
      QueuedJob job = Elastic(absl::StrCat("b", i), "theirs", 1, 1 + pick(2));
      job.priority = pick(2) * 100;
      world.Submit(job);
    }
    world.Cycle();
    world.now = At(1000);
    QueuedJob newcomer = Elastic("newcomer", "mine", 1 + pick(2), nodes);
    newcomer.priority = 50;
    world.Submit(newcomer);
    QueueBook::State& state = world.book.state();
    JobEntry& entry = *state.jobs.at("newcomer");
    const int min = newcomer.request.min;
    int largest = 0;
    for (int size = min; size <= std::max(min, NominalWorkers(state, entry)); ++size) {
      VictimOptions options;
      options.workers = size;
      if (FindVictims(world.now, world.tree, state, entry, options)) largest = size;
    }
    const auto plan = PlanRoom(world.now, world.tree, state, entry, min, {});
    EXPECT_EQ(plan ? plan->workers : 0, largest) << round;
    between += largest > min && largest < NominalWorkers(state, entry);
  }
  EXPECT_GT(between, 20);
}

}  // namespace
}  // namespace muster::control
