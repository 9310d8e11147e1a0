#include "operator/queue/forecast/what_if.h"

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

WhatIfAnswer Ask(const World& world, const QueuedJob& newcomer) {
  return AskWhatIf(Capture(world.now, world.tree, world.book, world.options, {}), newcomer);
}

TEST(WhatIf, WhatFitsStartsNow) {
  World world(Racks(1, 2), {});
  const WhatIfAnswer answer = Ask(world, Job("next", "", 2));
  EXPECT_EQ(answer.decision.action, ScheduleAction::kStart);
  EXPECT_EQ(answer.decision.placement.nodes, (std::vector<std::string>{"r0-n0", "r0-n1"}));
  EXPECT_TRUE(answer.victims.empty());
  EXPECT_EQ(answer.start.kind, StartKind::kNow);
  EXPECT_EQ(Sentence(answer.start, world.now), "starts now");
  EXPECT_EQ(world.book.Find("next"), nullptr) << "asking changes nothing";
}

// Reading the quotas of a queue that does not exist would end the operator.
TEST(WhatIf, AMissingQueueIsReported) {
  World world(Racks(1, 2), {Queue("a", "", 16)});
  const WhatIfAnswer answer = Ask(world, Job("next", "nobody-made-it", 1));
  EXPECT_EQ(answer.decision.reason, ScheduleReason::kNoSuchQueue);
  EXPECT_TRUE(answer.victims.empty());
}

TEST(WhatIf, NamesTheVictimsAndWhatTheyCost) {
  World world(Racks(1, 2), {});
  world.Submit(Job("low", "", 2));
  world.Cycle();
  world.now = At(1000);
  QueuedJob high = Job("high", "", 2, 8, 0, 1000);
  high.priority = 1000;
  const WhatIfAnswer answer = Ask(world, high);
  EXPECT_EQ(answer.decision.reason, ScheduleReason::kWaitingForVictims);
  ASSERT_EQ(answer.victims.size(), 1u);
  const NeededVictim& low = answer.victims[0];
  EXPECT_EQ(low.name, "low");
  EXPECT_EQ(low.queue, "default");
  EXPECT_EQ(low.action, ScheduleAction::kStop);
  EXPECT_EQ(low.reason, ScheduleReason::kPriority);
  EXPECT_EQ(low.workers, 2);
  EXPECT_EQ(low.keep, 0);
  EXPECT_EQ(low.lost, 16 * (1000 + 120)) << "all that it did, and two minutes to restart";
  EXPECT_EQ(low.why, "priority 0 is below 1000; without it there are nodes for 0 of 2 workers");
  EXPECT_EQ(answer.start.at, At(1060));
  EXPECT_EQ(answer.start.placement.nodes, (std::vector<std::string>{"r0-n0", "r0-n1"}));
  EXPECT_EQ(Sentence(answer.start, world.now),
            "starts in about 1 min, when team/low has made room");
  EXPECT_EQ(Sentence(answer.decision, world.now),
            "waits for other jobs to make room; within 1m if running jobs end when they say");
  EXPECT_EQ(world.book.Find("low")->leaving, 0) << "asking changes nothing";
}

TEST(WhatIf, AJobYieldsWorkersBeyondThoseThatItAsksFor) {
  World world(Racks(1, 4), {Queue("a", "", 32)});
  QueuedJob grows = Job("grows", "a", 2);
  grows.larger_sizes = {3, 4};
  world.Submit(grows);
  world.Cycle();
  world.now = At(10);
  world.Cycle();
  ASSERT_EQ(world.Workers("grows"), 4);
  const WhatIfAnswer answer = Ask(world, Job("next", "a", 1, 8, 0, 10));
  ASSERT_EQ(answer.victims.size(), 1u);
  EXPECT_EQ(answer.victims[0].reason, ScheduleReason::kYielded);
  EXPECT_EQ(answer.victims[0].keep, 3);
  EXPECT_EQ(answer.victims[0].why,
            "it has 2 workers more than it asks for; without it there are nodes for 0 of 1 "
            "workers");
}

TEST(WhatIf, ABorrowerIsShrunkForTheNominalQuota) {
  World world(Racks(1, 4), {Queue("a", "c", 16), Queue("b", "c", 16)});
  QueuedJob elastic = Job("elastic", "b", 4);
  elastic.request.min = 1;
  world.Submit(elastic);
  world.Cycle();
  ASSERT_EQ(world.Workers("elastic"), 4);
  const WhatIfAnswer answer = Ask(world, Job("owner", "a", 2, 8, 0, 1));
  ASSERT_EQ(answer.victims.size(), 1u);
  EXPECT_EQ(answer.victims[0].action, ScheduleAction::kShrink);
  EXPECT_EQ(answer.victims[0].reason, ScheduleReason::kReclaimed);
  EXPECT_EQ(answer.victims[0].workers, 4);
  EXPECT_EQ(answer.victims[0].keep, 2);
  EXPECT_EQ(answer.victims[0].lost, 32 * 5);
  EXPECT_EQ(answer.victims[0].why,
            "queue \"b\" borrows; without it there are nodes for 0 of 2 workers");
}

TEST(WhatIf, QuotaAloneMayBeWhatIsNeeded) {
  World world(Racks(1, 8), {Queue("a", "c", 16), Queue("b", "c", 16)});
  world.Submit(Job("borrower", "b", 4));
  world.Cycle();
  const WhatIfAnswer answer = Ask(world, Job("owner", "a", 2, 8, 0, 1));
  ASSERT_EQ(answer.victims.size(), 1u);
  EXPECT_EQ(answer.victims[0].why,
            "queue \"b\" borrows; without it queue \"a\" has too little quota");
}

TEST(WhatIf, TheLimitOfItsNamespaceMayBeWhatIsNeeded) {
  QueueSpec queue = Queue("a", "", 32);
  queue.namespace_limits = {{"team", {{fixtures::kGpu, 8}}}};
  World world(Racks(1, 4), {queue});
  world.Submit(Job("low", "a", 1));
  world.Cycle();
  QueuedJob high = Job("high", "a", 1, 8, 0, 1);
  high.priority = 10;
  const WhatIfAnswer answer = Ask(world, high);
  ASSERT_EQ(answer.victims.size(), 1u);
  EXPECT_EQ(answer.victims[0].why,
            "priority 0 is below 10; without it namespace \"team\" is at its limit in queue "
            "\"a\"");
}

TEST(WhatIf, EachOfSeveralIsNeededForItsPart) {
  World world(Racks(1, 4), {});
  for (const char* name : {"p", "q", "r"}) world.Submit(Job(name, "", 1));
  world.Cycle();
  QueuedJob high = Job("high", "", 3, 8, 0, 1);
  high.priority = 9;
  const WhatIfAnswer answer = Ask(world, high);
  ASSERT_EQ(answer.victims.size(), 2u);
  for (const NeededVictim& victim : answer.victims) {
    EXPECT_EQ(victim.why, "priority 0 is below 9; without it there are nodes for 2 of 3 workers");
  }
}

TEST(WhatIf, BeyondTheDepthItsPositionIsReported) {
  World world(Racks(1, 1), {Queue("a", "", 8)});
  world.Submit(Job("running", "a", 1, 8, 500));
  world.Cycle();
  for (int i = 0; i < 150; ++i) world.Submit(Job(absl::StrCat("w", i), "a", 1, 8, 500, 1 + i));
  WhatIfAnswer answer = Ask(world, Job("next", "a", 1, 8, 0, 200));
  EXPECT_EQ(answer.decision.job, "next");
  EXPECT_EQ(answer.decision.reason, ScheduleReason::kBehind);
  EXPECT_EQ(Sentence(answer.decision, world.now), "others are ahead in queue \"a\"; position 151");
  EXPECT_EQ(answer.start.ahead, 150);
  EXPECT_EQ(answer.start.at, At(151 * 500));
  QueuedJob urgent = Job("next", "a", 1, 8, 0, 200);
  urgent.priority = 9;
  answer = Ask(world, urgent);
  EXPECT_EQ(answer.decision.reason, ScheduleReason::kWaitingForVictims) << "the first of them";
}

TEST(WhatIf, NobodyGoesForAJobThatWaits) {
  World world(Racks(1, 2), {});
  world.Submit(Job("running", "", 2, 8, 500));
  world.Cycle();
  const WhatIfAnswer answer = Ask(world, Job("next", "", 1, 8, 0, 1));
  EXPECT_EQ(answer.decision.action, ScheduleAction::kWait);
  EXPECT_TRUE(answer.victims.empty());
  EXPECT_EQ(answer.start.at, At(500));
}

}  // namespace
}  // namespace muster::control
