// Tests jobs that grow beyond the size that they ask for, and yield to every other job.
#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "operator/queue/queue_fixtures.h"

namespace muster::control {
namespace {

using fixtures::At;
using fixtures::Job;
using fixtures::Queue;
using fixtures::Racks;
using fixtures::World;
using ::testing::HasSubstr;
using A = ScheduleAction;
using R = ScheduleReason;

// A job of two nodes that would take the given larger sizes as well.
QueuedJob Growing(const std::string& uid, const std::string& queue, std::vector<int> sizes) {
  QueuedJob job = Job(uid, queue, 2);
  job.larger_sizes = std::move(sizes);
  return job;
}

// Starts the job, and lets it grow in the cycle after.
void Start(World& world, const QueuedJob& job) {
  world.Submit(job);
  world.Cycle();
  world.now += absl::Seconds(10);
  world.Cycle();
}

TEST(Growth, TakesTheLargestSizeThatThereIsRoomFor) {
  World world(Racks(1, 5), {Queue("a", "", 40)});
  world.Submit(Growing("grows", "a", {3, 4, 6}));
  world.Cycle();
  EXPECT_EQ(world.Workers("grows"), 2) << "it starts with the size that it asks for";
  world.now = At(10);
  world.Cycle();
  EXPECT_EQ(world.Of("grows").action, A::kGrow);
  EXPECT_EQ(world.Of("grows").reason, R::kFreeCapacity);
  EXPECT_EQ(world.Workers("grows"), 4) << "five is no size of its layout";
  EXPECT_THAT(Sentence(world.Of("grows"), world.now), HasSubstr("grows to 4 workers"));
  world.now = At(20);
  world.Cycle();
  EXPECT_EQ(world.Of("grows").job, "") << "nothing more to do";
}

// Its start is not known, so it counts as started now. Nothing may change that would lead to
// another cycle.
TEST(Growth, AJobThatANewLeaderFindsShortOfAWorkerGetsItInTheFirstCycle) {
  World world(Racks(1, 5), {Queue("a", "", 40)});
  QueuedJob found = Job("found", "a", 3);
  found.nodes = {"r0-n0", "r0-n1"};
  found.started = world.now;
  for (const std::string& node : found.nodes) {
    world.tree.Charge(*world.tree.FindNode(node), found.request.per_worker);
  }
  world.Submit(found);
  world.Cycle();
  EXPECT_EQ(world.Of("found").action, A::kGrow);
  EXPECT_EQ(world.Workers("found"), 3);
}

TEST(Growth, QuotaBoundsIt) {
  World world(Racks(1, 5), {Queue("a", "", 24)});
  Start(world, Growing("grows", "a", {3, 4}));
  EXPECT_EQ(world.Workers("grows"), 3);
}

TEST(Growth, AJobThatWasShrunkComesFirst) {
  World world(Racks(1, 5), {Queue("a", "", 40)});
  QueuedJob elastic = Job("elastic", "a", 3, 8, 0, 5);
  elastic.request.min = 1;
  world.Submit(Job("short", "a", 2, 8, 5));
  world.Submit(Growing("grows", "a", {3, 4}));
  world.Cycle();
  world.Submit(elastic);
  world.Cycle();
  ASSERT_EQ(world.Workers("elastic"), 1);
  world.now = At(10);
  world.Finish("short");
  world.Cycle();
  EXPECT_EQ(world.Workers("elastic"), 3);
  EXPECT_EQ(world.Workers("grows"), 2);
}

TEST(Growth, AWaitingJobGetsTheRoomFirst) {
  World world(Racks(1, 4), {Queue("a", "", 32)});
  world.Submit(Growing("grows", "a", {3, 4}));
  world.Cycle();
  world.now = At(10);
  world.Submit(Job("waits", "a", 1, 8, 0, 10));
  world.Cycle();
  EXPECT_TRUE(world.Runs("waits"));
  EXPECT_EQ(world.Workers("grows"), 3) << "with the rest";
}

// The job has a higher priority, its queue protects what has not run for an hour, and all is within
// the queue's own quota: none of this keeps workers that it did not ask for.
TEST(Growth, AWaitingJobTakesExtraWorkersWhateverItsPriorityAndNoOthers) {
  QueueSpec queue = Queue("a", "", 32);
  queue.min_runtime = absl::Hours(1);
  World world(Racks(1, 4), {queue});
  QueuedJob grows = Growing("grows", "a", {3, 4});
  grows.priority = 100;
  Start(world, grows);
  ASSERT_EQ(world.Workers("grows"), 4);
  world.Submit(Job("waits", "a", 1, 8, 0, 10));
  world.Cycle();
  EXPECT_EQ(world.Of("grows").action, A::kShrink);
  EXPECT_EQ(world.Of("grows").reason, R::kYielded);
  EXPECT_EQ(world.Of("grows").workers, 3) << "one is enough";
  EXPECT_EQ(world.Of("waits").reason, R::kWaitingForVictims);
  world.LetLeaversGo();
  world.Cycle();
  EXPECT_TRUE(world.Runs("waits"));
  world.Submit(Job("large", "a", 2, 8, 0, 20));
  world.Cycle();
  EXPECT_EQ(world.Of("grows").job, "") << "its last extra worker would not make room";
  EXPECT_EQ(world.Of("large").action, A::kWait);
}

TEST(Growth, ItShrinksToSizesOfItsLayoutOnly) {
  World world(Racks(1, 6), {Queue("a", "", 48)});
  Start(world, Growing("grows", "a", {4, 6}));
  ASSERT_EQ(world.Workers("grows"), 6);
  world.Submit(Job("waits", "a", 1, 8, 0, 10));
  world.Cycle();
  EXPECT_EQ(world.Of("grows").workers, 4);
}

TEST(Growth, ExtraWorkersGoBeforeABorrowerIsShrunk) {
  World world(Racks(1, 6), {Queue("a", "c", 16), Queue("b", "c", 16), Queue("d", "c", 16)});
  QueuedJob borrower = Job("borrower", "a", 3);
  borrower.request.min = 1;
  world.Submit(borrower);
  Start(world, Growing("grows", "b", {3}));
  ASSERT_EQ(world.Workers("borrower"), 3);
  ASSERT_EQ(world.Workers("grows"), 3);
  world.now = At(100);
  world.Submit(Job("owner", "d", 1, 8, 0, 100));
  world.Cycle();
  EXPECT_EQ(world.Of("borrower").job, "");
  EXPECT_EQ(world.Of("grows").workers, 2);
  EXPECT_EQ(world.Of("grows").reason, R::kYielded);
}

// The extra worker is not enough, so the borrower goes as well, and no more of it than is needed.
TEST(Growth, ExtraWorkersAndBorrowersGoTogether) {
  World world(Racks(1, 6), {Queue("a", "c", 16), Queue("b", "c", 16), Queue("d", "c", 16)});
  QueuedJob borrower = Job("borrower", "a", 3);
  borrower.request.min = 1;
  world.Submit(borrower);
  Start(world, Growing("grows", "b", {3}));
  world.now = At(100);
  world.Submit(Job("owner", "d", 2, 8, 0, 100));
  world.Cycle();
  EXPECT_EQ(world.Of("grows").workers, 2);
  EXPECT_EQ(world.Of("borrower").workers, 2);
  EXPECT_EQ(world.Of("borrower").reason, R::kReclaimed);
}

TEST(Growth, AJobThatIsNobodysVictimIsNotStoppedForItsExtraWorkers) {
  World world(Racks(1, 4), {Queue("a", "c", 16), Queue("b", "c", 16)});
  world.Submit(Growing("grows", "a", {3}));
  Start(world, Job("other", "b", 1));
  ASSERT_EQ(world.Workers("grows"), 3);
  world.now = At(100);
  world.Submit(Job("large", "b", 2, 8, 0, 100));
  world.Cycle();
  EXPECT_EQ(world.Of("grows").job, "") << "one node is not enough, and its own two stay";
  EXPECT_EQ(world.Workers("grows"), 3);
}

}  // namespace
}  // namespace muster::control
