// Tests what is promised to a head, and which jobs may pass it meanwhile.
#include "operator/queue/room/reservations.h"

#include <gtest/gtest.h>

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

TEST(Reservations, BackfillMayNotMoveTheReservation) {
  World world(Racks(1, 4), {});
  world.Submit(Job("running", "", 2, 8, 1000));
  world.Cycle();
  world.Submit(Job("large", "", 4, 8, 1000, 1));
  world.Submit(Job("short", "", 1, 8, 900, 2));
  world.Submit(Job("long", "", 1, 8, 1100, 3));
  world.Submit(Job("endless", "", 1, 8, 0, 4));
  world.Cycle();
  EXPECT_EQ(world.Of("large").reason, R::kInsufficient);
  EXPECT_EQ(world.Of("large").numbers.expected_start, At(1000));
  EXPECT_EQ(world.Of("short").reason, R::kBackfilled);
  EXPECT_EQ(world.Of("long").reason, R::kHeldByReservation);
  EXPECT_EQ(world.Of("long").numbers.blocked_by, "large");
  EXPECT_EQ(world.Of("endless").reason, R::kHeldByReservation);
}

TEST(Reservations, BackfillMayRunBesideTheReservation) {
  World world(Racks(1, 4), {});
  world.Submit(Job("running", "", 3, 8, 1000));
  world.Cycle();
  world.Submit(Job("large", "", 3, 8, 1000, 1));
  world.Submit(Job("endless", "", 1, 8, 0, 2));
  world.Cycle();
  EXPECT_EQ(world.Of("large").numbers.expected_start, At(1000));
  EXPECT_EQ(world.Of("endless").reason, R::kBackfilled);
}

// A stream of jobs with or without a stated end, in one queue or in two.
struct Stream {
  double runtime;
  bool one_queue;
};
class Starvation : public testing::TestWithParam<Stream> {};

TEST_P(Starvation, AVeryLargeJobAgainstAStreamOfSmallOnes) {
  World world(Racks(2, 8), {Queue("large", "", 128), Queue("small", "", 128)});
  int made = 0;
  auto submit = [&] {
    const double created = absl::ToDoubleSeconds(world.now - At(0));
    world.Submit(Job(absl::StrCat("s", made++), "small", 1, 8, GetParam().runtime, created));
  };
  for (int i = 0; i < 40; ++i) submit();
  world.Cycle();
  QueuedJob large = Job("large", GetParam().one_queue ? "small" : "large", 8, 8, 100, 1);
  large.request.required_level = "rack";
  world.Submit(large);
  // Every ten seconds a small job ends, later than it said, and two more come.
  int cycles = 0;
  for (; !world.Runs("large") && cycles < 400; ++cycles) {
    world.now += absl::Seconds(10);
    for (int i = 0; i < made; ++i) {
      if (!world.Runs(absl::StrCat("s", i))) continue;
      world.Finish(absl::StrCat("s", i));
      break;
    }
    submit();
    submit();
    world.Cycle();
  }
  EXPECT_TRUE(world.Runs("large"));
  EXPECT_LT(cycles, 50) << "sixteen ran when it came, forty waited before it";
}

INSTANTIATE_TEST_SUITE_P(Reservations, Starvation,
                         testing::Values(Stream{100, false}, Stream{100, true}, Stream{0, false},
                                         Stream{0, true}));

// A head that borrows all there is must not keep others' own quota idle.
TEST(Reservations, ABorrowersReservationDoesNotBindOtherQueuesWithinTheirQuota) {
  std::vector<QueueSpec> queues = {Queue("a", "c", 16), Queue("b", "c", 16)};
  queues[1].reclaim = ReclaimFrom::kNever;
  World world(Racks(1, 4), queues);
  world.Submit(Job("before", "a", 3));
  world.Cycle();
  QueuedJob others = Job("others", "b", 2, 8, 1000);
  others.request.min = 1;
  world.Submit(others);
  world.Cycle();
  ASSERT_EQ(world.Workers("others"), 1);
  world.Finish("before");
  world.now = At(10);
  world.Submit(Job("huge", "a", 4, 8, 100, 1));
  world.Submit(Job("own", "a", 2, 8, 5000, 2));
  world.Cycle();
  EXPECT_EQ(world.Of("huge").numbers.expected_start, At(1000));
  EXPECT_EQ(world.Of("others").action, A::kGrow) << "on its queue's own quota";
  EXPECT_EQ(world.Of("own").reason, R::kHeldByReservation) << "it comes after its queue's head";
  EXPECT_EQ(world.Of("own").numbers.blocked_by, "huge");
}

TEST(Reservations, AHeadThatBorrowsIsNotStarvedByItsOwnQueuesSmallJobs) {
  World world(Racks(1, 2), {Queue("a", "c", 8), Queue("b", "c", 8)});
  int made = 0;
  auto submit = [&] {
    const double created = absl::ToDoubleSeconds(world.now - At(0));
    world.Submit(Job(absl::StrCat("s", made++), "a", 1, 1, 100, created));
  };
  submit();
  world.Cycle();
  world.Submit(Job("large", "a", 2, 8, 100, 1));
  // One more small job every fifty seconds, of a hundred each: some always run.
  for (int step = 1; step <= 20 && !world.Runs("large"); ++step) {
    world.now = At(50 * step);
    if (step >= 2) world.Finish(absl::StrCat("s", step - 2));
    submit();
    world.Cycle();
  }
  EXPECT_TRUE(world.Runs("large"));
  EXPECT_EQ(world.now, At(100)) << "when what ran before it has ended";
}

// The queue would otherwise stand still for as long as its first job has no place.
TEST(Reservations, BehindEndlessJobsAHeadThatBorrowsLeavesItsQueuesQuotaToOthers) {
  World world(Racks(1, 2), {Queue("a", "c", 8), Queue("b", "c", 8)});
  world.Submit(Job("first", "a", 1, 1, 0, 0));
  world.Cycle();
  world.Submit(Job("large", "a", 2, 8, 0, 1));
  world.Submit(Job("small", "a", 1, 1, 0, 2));
  world.now = At(10);
  world.Cycle();
  EXPECT_FALSE(world.Runs("large"));
  EXPECT_TRUE(world.Runs("small"));
}

}  // namespace
}  // namespace muster::control
