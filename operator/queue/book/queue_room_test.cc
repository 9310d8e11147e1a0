#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "operator/queue/queue_fixtures.h"

namespace muster::control {
namespace {

using fixtures::At;
using fixtures::Job;
using fixtures::kGpu;
using fixtures::Queue;
using fixtures::Racks;
using fixtures::World;
using A = ScheduleAction;
using R = ScheduleReason;

QueueSpec Limited(QueueSpec queue, const std::vector<std::pair<std::string, int64_t>>& gpus) {
  for (const auto& [ns, limit] : gpus) queue.namespace_limits.push_back({ns, {{kGpu, limit}}});
  return queue;
}

QueuedJob In(const std::string& ns, QueuedJob job) {
  job.ns = ns;
  return job;
}

// Its queue would take the GPUs back and still could not start the job, so that the borrower would
// be stopped again and again.
TEST(QueueRoom, NobodyIsStoppedForAJobThatItsNamespaceKeepsOut) {
  World world(Racks(1, 2, 4), {Limited(Queue("a", "c", 8), {{"x", 4}}), Queue("b", "c", 0)});
  world.Submit(In("x", Job("x0", "a", 1, 4)));
  world.Cycle();
  world.Submit(Job("borrower", "b", 1, 4));
  world.Cycle();
  ASSERT_EQ(world.Of("borrower").reason, R::kBorrowing);
  world.Submit(In("x", Job("x1", "a", 1, 4, 0, 50)));
  for (int cycle = 1; cycle <= 3; ++cycle) {
    world.now = At(100 * cycle);
    world.Cycle();
    EXPECT_EQ(world.Of("borrower").job, "") << "cycle " << cycle;
    EXPECT_EQ(world.Of("x1").reason, R::kNamespaceLimit);
    EXPECT_EQ(world.Of("x1").numbers.needed, 4);
    EXPECT_EQ(world.Of("x1").numbers.available, 0);
    const BookMemory memory = world.book.Memory(world.now);
    EXPECT_TRUE(memory.claimed_since.empty());
    EXPECT_TRUE(memory.reserved_since.empty());
  }
  // Another namespace is within its rights.
  world.Submit(In("y", Job("y0", "a", 1, 4, 0, 400)));
  world.Cycle();
  EXPECT_EQ(world.Of("borrower").reason, R::kReclaimed);
  EXPECT_EQ(world.Of("borrower").for_job, "y0");
}

TEST(QueueRoom, AJobThatItsNamespaceKeepsOutLosesItsClaim) {
  const std::vector<QueueSpec> before = {Queue("a", "c", 8), Queue("b", "c", 0)};
  World world(Racks(1, 2, 4), before);
  world.Submit(In("x", Job("x0", "a", 1, 4)));
  world.Submit(Job("borrower", "b", 1, 4));
  world.Cycle();
  world.Submit(In("x", Job("x1", "a", 1, 4, 0, 1)));
  world.Cycle();
  ASSERT_EQ(world.Of("x1").reason, R::kWaitingForVictims);
  ASSERT_TRUE(world.book.Memory(world.now).claimed_since.contains("x1"));
  world.book.SetQueues(world.now, {Limited(before[0], {{"x", 4}}), before[1]});
  world.Cycle();
  EXPECT_EQ(world.Of("x1").reason, R::kNamespaceLimit);
  EXPECT_FALSE(world.book.Memory(world.now).claimed_since.contains("x1"));
  EXPECT_FALSE(world.book.Memory(world.now).reserved_since.contains("x1"));
}

TEST(QueueRoom, JobsOfANamespaceAddUpToItsLimitUntilOneEnds) {
  World world(Racks(1, 4), {Limited(Queue("a", "", 32), {{"x", 12}})});
  world.Submit(In("x", Job("x0", "a", 1, 8)));
  world.Submit(In("x", Job("x1", "a", 1, 4, 0, 1)));
  world.Submit(In("x", Job("x2", "a", 1, 4, 0, 2)));
  world.Submit(In("y", Job("y0", "a", 1, 8, 0, 3)));
  world.Cycle();
  EXPECT_TRUE(world.Runs("x0"));
  EXPECT_TRUE(world.Runs("x1"));
  EXPECT_EQ(world.Of("x2").reason, R::kNamespaceLimit);
  EXPECT_EQ(Sentence(world.Of("x2"), world.now),
            "4 nvidia.com/gpu needed, 0 available of the namespace's limit in queue \"a\"");
  EXPECT_EQ(world.Of("y0").reason, R::kWithinQuota) << "it holds up nobody";
  world.Finish("x1");
  world.Cycle();
  EXPECT_TRUE(world.Runs("x2"));
}

TEST(QueueRoom, ANamespacesOwnLimitCountsBeforeThatOfAllOthers) {
  for (const bool star_first : {false, true}) {
    const std::vector<std::pair<std::string, int64_t>> limits = {{"*", 4}, {"x", 8}};
    QueueSpec queue = Limited(Queue("a", "", 32), limits);
    if (!star_first) std::swap(queue.namespace_limits[0], queue.namespace_limits[1]);
    World world(Racks(1, 4), {queue});
    world.Submit(In("x", Job("x0", "a", 1)));
    world.Submit(In("y", Job("y0", "a", 1)));
    world.Submit(In("z", Job("z0", "a", 1, 4)));
    world.Cycle();
    EXPECT_TRUE(world.Runs("x0"));
    EXPECT_EQ(world.Of("y0").reason, R::kNamespaceLimit);
    EXPECT_EQ(world.Of("y0").numbers.available, 4);
    EXPECT_TRUE(world.Runs("z0")) << "each namespace has the limit for itself";
  }
}

TEST(QueueRoom, AnElasticJobGrowsUpToItsNamespacesLimit) {
  World world(Racks(1, 4), {Limited(Queue("a", "", 32), {{"x", 24}})});
  world.Submit(In("x", Job("x0", "a", 1)));
  world.Cycle();
  QueuedJob elastic = In("x", Job("elastic", "a", 4));
  elastic.request.min = 1;
  world.Submit(elastic);
  world.Cycle();
  EXPECT_EQ(world.Workers("elastic"), 2);
  world.now = At(100);
  world.Cycle();
  EXPECT_EQ(world.Workers("elastic"), 2) << "there are nodes and quota for a third";
  world.Finish("x0");
  world.Cycle();
  EXPECT_EQ(world.Of("elastic").action, A::kGrow);
  EXPECT_EQ(world.Workers("elastic"), 3);
}

TEST(QueueRoom, AHigherPriorityMakesRoomWithinItsNamespace) {
  World world(Racks(1, 3), {Limited(Queue("a", "", 24), {{"x", 8}})});
  world.Submit(In("x", Job("low", "a", 1)));
  world.Submit(In("y", Job("other", "a", 1)));
  world.Cycle();
  world.now = At(1000);
  // Stopping it would cost less, and would not help.
  world.book.Progress("other", world.now, std::nullopt);
  world.Submit(In("x", Job("equal", "a", 1, 8, 0, 1000)));
  world.Cycle();
  EXPECT_EQ(world.Of("low").job, "");
  QueuedJob high = In("x", Job("high", "a", 1, 8, 0, 1000));
  high.priority = 100;
  world.Submit(high);
  world.Cycle();
  EXPECT_EQ(world.Of("low").reason, R::kPriority);
  EXPECT_EQ(world.Of("other").job, "");
  EXPECT_EQ(world.Of("high").reason, R::kWaitingForVictims);
  world.Cycle();
  EXPECT_EQ(world.Of("high").reason, R::kWaitingForVictims) << "until it has gone";
  EXPECT_EQ(world.Of("low").job, "");
  world.LetLeaversGo();
  world.Cycle();
  EXPECT_TRUE(world.Runs("high"));
  EXPECT_EQ(world.Of("low").reason, R::kNamespaceLimit);
}

// At 1000 s there are nodes and quota for both, but the namespace's limit is promised to the head.
TEST(QueueRoom, AReservationHoldsTheLimitOfItsNamespace) {
  World world(Racks(1, 4), {Limited(Queue("a", "", 32), {{"x", 16}})});
  world.Submit(In("y", Job("y0", "a", 3, 8, 1000)));
  world.Cycle();
  world.Submit(In("x", Job("large", "a", 2, 8, 0, 1)));
  world.Submit(In("x", Job("small", "a", 1, 8, 0, 2)));
  world.Submit(In("z", Job("z0", "a", 1, 8, 0, 3)));
  world.Cycle();
  EXPECT_EQ(world.Of("large").numbers.expected_start, At(1000));
  EXPECT_EQ(world.Of("small").reason, R::kHeldByReservation);
  EXPECT_EQ(world.Of("z0").reason, R::kBackfilled);
}

}  // namespace
}  // namespace muster::control
