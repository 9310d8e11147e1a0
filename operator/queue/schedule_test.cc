#include "operator/queue/schedule.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
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

TEST(Schedule, StartsWhatFitsWholeOrNotAtAll) {
  World world(Racks(1, 2), {});
  world.Submit(Job("a", "", 2));
  world.Submit(Job("b", "", 2, 8, 0, 1));
  world.Cycle();
  EXPECT_EQ(world.Of("a").action, A::kStart);
  EXPECT_EQ(world.Of("a").reason, R::kWithinQuota);
  EXPECT_EQ(world.Of("a").placement.nodes, (std::vector<std::string>{"r0-n0", "r0-n1"}));
  EXPECT_EQ(world.Of("b").reason, R::kNoNodeBigEnough);
  EXPECT_EQ(world.Of("b").numbers.expected_start, absl::InfiniteFuture());
  world.Finish("a");
  world.Cycle();
  EXPECT_EQ(world.Of("b").action, A::kStart);
}

TEST(Schedule, QueuesWithinNominalQuotaComeBeforeBorrowers) {
  World world(Racks(1, 4), {Queue("a", "c", 8), Queue("b", "c", 24)});
  world.Submit(Job("a1", "a", 1));
  world.Cycle();
  world.Submit(Job("a2", "a", 2, 8, 0, 1));
  world.Submit(Job("b1", "b", 3, 8, 0, 2));
  world.Cycle();
  EXPECT_EQ(world.Of("b1").action, A::kStart);
  EXPECT_EQ(world.Of("a2").reason, R::kQuotaExhausted);
  EXPECT_EQ(world.Of("a2").numbers.needed, 16);
  EXPECT_EQ(world.Of("a2").numbers.available, 0);
}

TEST(Schedule, TheLowestWeightedShareComesFirst) {
  std::vector<QueueSpec> queues = {Queue("a", "", 64), Queue("b", "", 64)};
  queues[1].weight = 3;
  World world(Racks(1, 8), queues);
  for (int i = 0; i < 8; ++i) {
    world.Submit(Job(absl::StrCat("a", i), "a", 1, 8, 0, i));
    world.Submit(Job(absl::StrCat("b", i), "b", 1, 8, 0, i));
  }
  world.Cycle();
  int of_b = 0;
  for (int i = 0; i < 8; ++i) of_b += world.Runs(absl::StrCat("b", i)) ? 1 : 0;
  EXPECT_EQ(of_b, 6) << "of eight, by three to one";
}

TEST(Schedule, PastUseCountsAndIsForgotten) {
  BookOptions options;
  options.half_life = absl::Hours(1);
  World world(Racks(1, 1), {Queue("a", "", 8), Queue("b", "", 8)}, options);
  world.Submit(Job("a0", "a", 1));
  world.Cycle();
  world.now = At(3600);
  world.Finish("a0");
  world.Submit(Job("a1", "a", 1, 8, 0, 1));
  world.Submit(Job("b1", "b", 1, 8, 0, 2));
  const auto views = world.book.Queues(world.now);
  ASSERT_EQ(views[0].name, "a");
  EXPECT_NEAR(views[0].share, 0.25, 1e-9) << "half of all for one half-life, none now";
  world.Cycle();
  EXPECT_TRUE(world.Runs("b1"));
  EXPECT_FALSE(world.Runs("a1"));
}

TEST(Schedule, PriorityThenAgeWithinAQueue) {
  BookOptions options;
  options.aging = absl::Minutes(1);
  World world(Racks(1, 1), {}, options);
  world.now = At(7200);
  QueuedJob urgent = Job("urgent", "", 1, 8, 0, 7200);
  urgent.priority = 100;
  world.Submit(urgent);
  world.Submit(Job("old", "", 1, 8, 0, 0));  // 120 minutes: a bonus of 120
  world.Submit(Job("young", "", 1, 8, 0, 3600));
  world.Cycle();
  EXPECT_TRUE(world.Runs("old"));
}

// Otherwise the victim, which has waited longer, would come first again, take its nodes back and be
// stopped again, for ever.
TEST(Schedule, NobodyIsStoppedForAJobItWouldComeBefore) {
  World world(Racks(1, 1), {Queue("a", "", 8)});
  world.Submit(Job("first", "a", 1, 8, 0, 0));
  world.Cycle();
  world.Submit(Job("old", "a", 1, 8, 0, 0));
  world.now = At(7200);
  world.Finish("first");
  world.Cycle();
  ASSERT_TRUE(world.Runs("old"));
  world.now = At(7300);
  QueuedJob young = Job("young", "a", 1, 8, 0, 7300);
  young.priority = 10;
  world.Submit(young);
  world.Cycle();
  EXPECT_EQ(world.Of("old").job, "");
  EXPECT_EQ(world.Of("young").reason, R::kQuotaExhausted);
  // Two hours of waiting do not make up for this priority.
  young.priority = 1000;
  world.Submit(young);
  world.Cycle();
  EXPECT_EQ(world.Of("old").reason, R::kPriority);
}

TEST(Schedule, WhatAJobRunsDoesNotAgeIt) {
  World world(Racks(1, 1), {Queue("a", "", 8)});
  auto submit = [&world](const std::string& uid, int priority) {
    QueuedJob job = Job(uid, "a", 1, 8, 0, absl::ToDoubleSeconds(world.now - At(0)));
    job.priority = priority;
    world.Submit(job);
  };
  submit("long", 0);
  world.Cycle();
  world.now = At(17 * 3600);
  submit("high", 10);
  world.Cycle();
  EXPECT_EQ(world.Of("long").reason, R::kPriority);
  world.LetLeaversGo();
  world.Cycle();
  EXPECT_TRUE(world.Runs("high"));
  // The job waits again as if it had just come.
  world.now += absl::Minutes(15);
  submit("higher", 20);
  submit("lower", 10);
  std::vector<std::string> order;
  for (const QueuedJob* job : world.book.WaitingInOrder("a")) order.push_back(job->uid);
  EXPECT_EQ(order, (std::vector<std::string>{"higher", "long", "lower"}));
}

TEST(Schedule, NominalQuotaIsTakenBackFromBorrowersOnly) {
  World world(Racks(1, 4), {Queue("a", "c", 16), Queue("b", "c", 16)});
  for (int i = 0; i < 4; ++i) world.Submit(Job(absl::StrCat("a", i), "a", 1, 8, 0, i));
  world.Cycle();
  EXPECT_EQ(world.Of("a3").reason, R::kBorrowing);
  world.now = At(100);
  world.Submit(Job("b0", "b", 2, 8, 0, 50));
  world.Cycle();
  EXPECT_EQ(world.Of("b0").reason, R::kWaitingForVictims);
  EXPECT_EQ(world.Of("b0").numbers.expected_start, At(160)) << "after the grace";
  int stopped = 0;
  for (const Decision& decision : world.last) {
    if (decision.action != A::kStop) continue;
    ++stopped;
    EXPECT_EQ(decision.reason, R::kReclaimed);
    EXPECT_EQ(decision.for_job, "b0");
    EXPECT_GT(decision.numbers.cost, 0);
  }
  EXPECT_EQ(stopped, 2);
  world.Cycle();
  EXPECT_EQ(world.Of("b0").reason, R::kWaitingForVictims);
  for (const Decision& decision : world.last) EXPECT_NE(decision.action, A::kStop);
  world.LetLeaversGo();
  world.Submit(Job("b1", "b", 1, 8, 0, 60));
  world.Cycle();
  EXPECT_TRUE(world.Runs("b0"));
  EXPECT_EQ(world.Of("b1").reason, R::kQuotaExhausted) << "beyond nominal nothing is taken";
}

TEST(Schedule, AJobThatMadeRoomIsNotOvertaken) {
  World world(Racks(1, 2), {Queue("a", "c", 0), Queue("b", "c", 8), Queue("z", "c", 8)});
  world.Submit(Job("a0", "a", 2));
  world.Cycle();
  world.now = At(10);
  world.Submit(Job("b0", "b", 1, 8, 0, 5));
  world.Cycle();
  EXPECT_EQ(world.Of("b0").reason, R::kWaitingForVictims);
  world.LetLeaversGo();
  QueuedJob other = Job("a1", "a", 2, 8, 0, 0);
  other.priority = 1000;
  world.Submit(other);
  world.Cycle();
  EXPECT_TRUE(world.Runs("b0"));
}

TEST(Schedule, PriorityPreemptsInItsQueueUnlessThePolicySaysOtherwise) {
  for (const bool never : {false, true}) {
    QueueSpec queue = Queue("a", "", 16);
    if (never) queue.preempt_within_queue = PreemptWithinQueue::kNever;
    World world(Racks(1, 2), {queue, Queue("b", "", 16)});
    world.Submit(Job("low", "a", 1));
    world.Submit(Job("other", "b", 1));
    world.Cycle();
    QueuedJob high = Job("high", "a", 1, 8, 0, 5);
    high.priority = 10;
    world.Submit(high);
    world.Cycle();
    EXPECT_EQ(world.Of("low").action, never ? A::kWait : A::kStop);
    EXPECT_EQ(world.Of("other").job, "") << "of another queue, within its quota";
    EXPECT_EQ(world.Of("high").reason, never ? R::kNoNodeBigEnough : R::kWaitingForVictims);
  }
}

TEST(Schedule, ElasticJobsAreShrunkFirstAndGrowBack) {
  World world(Racks(1, 4), {Queue("a", "c", 16), Queue("b", "c", 16)});
  QueuedJob elastic = Job("elastic", "a", 3);
  elastic.request.min = 1;
  world.Submit(elastic);
  world.Submit(Job("rigid", "a", 1, 8, 0, 1));
  world.Cycle();
  EXPECT_EQ(world.Workers("elastic"), 3);
  world.now = At(100);
  world.Submit(Job("b0", "b", 2, 8, 500, 50));
  world.Cycle();
  EXPECT_EQ(world.Of("elastic").action, A::kShrink);
  EXPECT_EQ(world.Of("elastic").workers, 1);
  EXPECT_EQ(world.Of("rigid").job, "");
  world.LetLeaversGo();
  world.Cycle();
  EXPECT_TRUE(world.Runs("b0"));
  world.now = At(700);
  world.Finish("b0");
  world.Cycle();
  EXPECT_EQ(world.Of("elastic").action, A::kGrow);
  EXPECT_EQ(world.Of("elastic").placement.nodes.size(), 3u);
  EXPECT_EQ(world.Workers("elastic"), 3);
}

TEST(Schedule, EveryReasonToWaitHasItsNumbers) {
  std::vector<QueueSpec> queues = {Queue("a", "cohort", 8), Queue("stopped", "", 8)};
  queues[0].namespace_limits = {{"*", {{kGpu, 6}}}};
  queues[1].stopped = true;
  World world(Racks(1, 1), queues);
  world.Submit(Job("nowhere", "nobody-made-it", 1));
  world.Submit(Job("cohort", "cohort", 1));
  world.Submit(Job("stopped", "stopped", 1));
  world.Submit(Job("too-much", "a", 2));
  world.Submit(Job("namespace", "a", 1));
  QueuedJob wrong = Job("wrong", "", 1);
  wrong.request.required_level = "moon";
  world.Submit(wrong);
  world.Cycle();
  EXPECT_EQ(world.Of("nowhere").reason, R::kNoSuchQueue);
  EXPECT_EQ(world.Of("cohort").reason, R::kQueueIsCohort);
  EXPECT_EQ(world.Of("stopped").reason, R::kQueueStopped);
  EXPECT_EQ(world.Of("too-much").reason, R::kExceedsQuota);
  EXPECT_EQ(Sentence(world.Of("too-much"), world.now),
            "16 nvidia.com/gpu needed; queue \"a\" may never use more than 8");
  EXPECT_EQ(world.Of("namespace").reason, R::kNamespaceLimit);
  EXPECT_EQ(world.Of("namespace").numbers.available, 6);
  EXPECT_EQ(world.Of("wrong").reason, R::kInvalidRequest);
  EXPECT_TRUE(absl::StrContains(Sentence(world.Of("wrong"), world.now), "moon"));
}

TEST(Schedule, AJobOfANamespaceThatItsQueueIsNotForWaitsWhateverItsPriority) {
  std::vector<QueueSpec> queues = {Queue("a", "", 8), Queue("open", "", 8)};
  queues[0].namespaces = {"research", "product"};
  queues[1].namespaces = {"*"};
  World world(Racks(1, 2), queues);
  QueuedJob stranger = Job("stranger", "a", 1);
  stranger.ns = "elsewhere";
  stranger.priority = 1'000'000;
  world.Submit(stranger);
  QueuedJob own = Job("own", "a", 1);
  own.ns = "product";
  world.Submit(own);
  stranger.uid = stranger.name = "welcome";
  stranger.queue = "open";
  world.Submit(stranger);
  world.Cycle();
  EXPECT_EQ(world.Of("stranger").reason, R::kNamespaceNotAdmitted);
  EXPECT_EQ(Sentence(world.Of("stranger"), world.now),
            "queue \"a\" is not for jobs of namespace elsewhere: use another queue, or add the "
            "namespace to the queue's namespaces");
  EXPECT_TRUE(world.Runs("own")) << "the stranger holds nobody up";
  EXPECT_TRUE(world.Runs("welcome"));
}

TEST(Schedule, ASnapshotGivesTheSameDecisions) {
  const Inventory inventory = Racks(2, 4);
  Snapshot snapshot;
  snapshot.inventory = inventory;
  snapshot.queues = {Queue("a", "c", 24), Queue("b", "c", 40)};
  snapshot.memory.capacity = {{kGpu, 64}};
  World world(inventory, snapshot.queues);
  for (int i = 0; i < 12; ++i) {
    const QueuedJob job = Job(absl::StrCat("j", i), i % 2 ? "a" : "b", 1 + i % 3, 8, 50 * i, i);
    snapshot.jobs.push_back(job);
    world.Submit(job);
  }
  const auto live = world.Cycle();
  const auto replayed = Schedule(world.now, snapshot);
  ASSERT_EQ(live.size(), replayed.size());
  for (size_t i = 0; i < live.size(); ++i) {
    EXPECT_EQ(live[i].job, replayed[i].job);
    EXPECT_EQ(live[i].placement.nodes, replayed[i].placement.nodes);
    EXPECT_EQ(Sentence(live[i], world.now), Sentence(replayed[i], world.now));
  }
}

}  // namespace
}  // namespace muster::control
