// Tests TrainingQueues in the whole operator, on virtual time: quotas, borrowing, which job makes
// room and how, and a process that dies in the middle of it.
#include <string>

#include "absl/strings/str_cat.h"
#include "base/testing/test_iterations.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "operator/core/state/conditions.h"
#include "operator/kube/queue_resources.h"
#include "operator/kube/resource_type.h"
#include "tests/simulation/replica_world.h"

namespace muster::control {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

class QueuesTest : public testing::Test {
 protected:
  explicit QueuesTest(uint64_t seed = 1) : world_({.seed = seed, .election = false}) {}

  void AddQueue(const std::string& name, int cpus, const std::string& cohort = "",
                const Json& preemption = Json()) {
    Json queue = kube::NewObject(kube::kTrainingQueues, {"", name});
    queue["spec"] = {{"quotas", {{{"resource", "cpu"}, {"nominal", absl::StrCat(cpus)}}}}};
    if (!cohort.empty()) queue["spec"]["parent"] = cohort;
    if (!preemption.is_null()) queue["spec"]["preemption"] = preemption;
    const auto made = world_.memory->Create(kube::kTrainingQueues, queue);
    ASSERT_TRUE(made.ok()) << made.status();
  }
  void AddPriority(const std::string& name, int value) {
    Json one = kube::NewObject(kube::kPriorityClasses, {"", name});
    one["value"] = value;
    ASSERT_TRUE(world_.memory->Create(kube::kPriorityClasses, one).ok());
  }
  // Creates a job whose workers request one CPU each.
  void AddJob(const std::string& name, const std::string& queue, int workers, int min,
              Json spec = Json::object(), int steps = 200) {
    Json all = {{"workers", {{"count", workers}, {"min", min}}},
                {"trainer", {{"train", {{"steps", steps}}}}}};
    if (!queue.empty()) all["queue"] = queue;
    if (!spec.is_null()) all.merge_patch(spec);
    world_.CreateJobOfCpus(name, all);
  }
  int Bound(const std::string& job) const {
    int bound = 0;
    for (const Json& pod : world_.Pods()) {
      const bool ours = kube::LabelOf(pod, "muster.dev/job") == job;
      bound += ours && !kube::StringAt(pod, {"spec", "nodeName"}).empty();
    }
    return bound;
  }
  bool Trains(const std::string& job) const { return world_.Job(job).status.state() == "Training"; }
  bool TrainsWith(const std::string& job, int workers) {
    return Trains(job) && world_.fleet->Training(world_.Job(job).uid) == workers;
  }
  std::string Condition(const std::string& job, ConditionType type) const {
    const TrainingJob now = world_.Job(job);
    const v1alpha1::Condition* found = FindCondition(now.status, type);
    return found == nullptr ? "" : absl::StrCat(found->status(), "/", found->reason());
  }
  bool Until(const std::function<bool()>& done, absl::Duration limit = absl::Minutes(5)) {
    return world_.RunUntil(done, limit);
  }
  void ExpectUnharmed(const std::string& job) {
    EXPECT_EQ(world_.Job(job).status.failures().count(), 0) << job;
    EXPECT_THAT(world_.promises.broken(), IsEmpty());
  }

  ReplicaWorld world_;
};

TEST_F(QueuesTest, AJobBeyondTheQuotaWaitsForTheOneBeforeIt) {
  world_.AddNode("node", 10);
  AddQueue("research", 3);
  AddJob("first", "research", 2, 2);
  ASSERT_TRUE(Until([&] { return Trains("first"); }));
  AddJob("second", "research", 2, 2);
  ASSERT_TRUE(
      Until([&] { return Condition("second", ConditionType::kScheduled) == "False/Queued"; }));
  const TrainingJob second = world_.Job("second");
  EXPECT_EQ(second.status.placement().reason(), "QuotaExhausted");
  EXPECT_THAT(FindCondition(second.status, ConditionType::kScheduled)->message(),
              HasSubstr("2 cpu needed, 1 available to queue \"research\""));
  EXPECT_EQ(Bound("second"), 0);
  ASSERT_TRUE(Until([&] { return world_.Succeeded("first"); }));
  ASSERT_TRUE(Until([&] { return world_.Succeeded("second"); }));
  ExpectUnharmed("second");
}

TEST_F(QueuesTest, AMissingQueueIsReportedAndItsCreationStartsTheJob) {
  world_.AddNode("node", 10);
  AddQueue("other", 1);
  AddJob("gpt", "typo", 1, 1);
  ASSERT_TRUE(
      Until([&] { return world_.Job("gpt").status.placement().reason() == "NoSuchQueue"; }));
  EXPECT_EQ(Condition("gpt", ConditionType::kScheduled), "False/Queued");
  AddQueue("typo", 1);
  EXPECT_TRUE(Until([&] { return world_.Succeeded("gpt"); }));
}

TEST_F(QueuesTest, JobsThatWaitedLongEnoughGetTheWorkersThatElasticOnesCanSpare) {
  world_.AddNode("node", 4);
  AddQueue("research", 4, "", {{"shrinkAfter", "1m"}});
  AddJob("elastic", "research", 4, 1, {}, 8000);
  ASSERT_TRUE(Until([&] { return TrainsWith("elastic", 4); }));
  AddJob("second", "research", 1, 1, {}, 2000);
  world_.RunFor(absl::Seconds(50));
  EXPECT_TRUE(TrainsWith("elastic", 4));
  ASSERT_TRUE(Until([&] { return Trains("second"); }, absl::Seconds(40)));
  EXPECT_TRUE(Until([&] { return TrainsWith("elastic", 3); }));
  EXPECT_EQ(world_.Job("elastic").status.preemption().reason(), "Backlog");
  AddJob("third", "research", 1, 1, {}, 2000);
  AddJob("fourth", "research", 1, 1, {}, 2000);
  ASSERT_TRUE(Until([&] { return Trains("third") && Trains("fourth"); }, absl::Seconds(90)));
  EXPECT_TRUE(Until([&] { return TrainsWith("elastic", 1); }));
  EXPECT_EQ(world_.Job("elastic").status.round(), 3) << "two jobs cost it one change of its size";
  ASSERT_TRUE(Until([&] { return world_.Succeeded("third") && world_.Succeeded("fourth"); }));
  EXPECT_TRUE(Until([&] { return TrainsWith("elastic", 4); }));
  EXPECT_TRUE(Until([&] { return world_.Succeeded("elastic"); }, absl::Minutes(15)));
  EXPECT_EQ(world_.Job("elastic").status.preemption().count(), 0);
  ExpectUnharmed("elastic");
  ExpectUnharmed("fourth");
}

TEST_F(QueuesTest, ABorrowerShrinksAndGrowsAgainBeforeAnybodyStops) {
  world_.AddNode("node", 4);
  AddQueue("research", 2, "all");
  AddQueue("product", 2, "all");
  AddJob("elastic", "research", 4, 2, {}, 900);
  ASSERT_TRUE(Until([&] { return TrainsWith("elastic", 4); }));
  AddJob("urgent", "product", 2, 2, {}, 100);
  ASSERT_TRUE(Until([&] { return Trains("urgent"); }));
  EXPECT_TRUE(Until([&] { return TrainsWith("elastic", 2); }));
  EXPECT_EQ(world_.Job("elastic").status.preemption().workers(), 2);
  EXPECT_EQ(world_.Job("elastic").status.preemption().count(), 0);
  EXPECT_EQ(Condition("elastic", ConditionType::kDegraded), "True/GaveUpWorkers");
  ASSERT_TRUE(Until([&] { return world_.Succeeded("urgent"); }));
  EXPECT_TRUE(Until([&] { return TrainsWith("elastic", 4); }));
  EXPECT_FALSE(world_.Job("elastic").status.preemption().has_workers());
  EXPECT_TRUE(Until([&] { return world_.Succeeded("elastic"); }));
  ExpectUnharmed("elastic");
}

// The node of a job's bound pods must not restrict where its new pods go.
TEST_F(QueuesTest, AShrunkJobGrowsAgainOnAnotherNode) {
  for (const char* node : {"a", "b", "c"}) world_.AddNode(node, 1);
  AddQueue("research", 1, "all");
  AddQueue("product", 2, "all");
  AddJob("elastic", "research", 3, 1, {}, 900);
  ASSERT_TRUE(Until([&] { return TrainsWith("elastic", 3); }));
  AddJob("urgent", "product", 1, 1, {}, 100);
  ASSERT_TRUE(Until([&] { return Trains("urgent"); }));
  EXPECT_TRUE(Until([&] { return TrainsWith("elastic", 2); }));
  ASSERT_TRUE(Until([&] { return world_.Succeeded("urgent"); }));
  EXPECT_TRUE(Until([&] { return TrainsWith("elastic", 3); }));
  ExpectUnharmed("elastic");
}

TEST_F(QueuesTest, ABorrowerThatCannotShrinkSavesStopsAndComesBack) {
  world_.AddNode("node", 4);
  AddQueue("research", 2, "all");
  AddQueue("product", 2, "all");
  AddJob("rigid", "research", 4, 4, {}, 300);
  ASSERT_TRUE(Until([&] { return world_.Job("rigid").status.progress().step() >= 10; }));
  AddJob("urgent", "product", 2, 2, {}, 100);
  ASSERT_TRUE(
      Until([&] { return Condition("rigid", ConditionType::kPreempted) == "True/Reclaimed"; }));
  ASSERT_TRUE(Until([&] { return Trains("urgent"); }));
  const TrainingJob stopped = world_.Job("rigid");
  EXPECT_EQ(stopped.status.state(), "Queued");
  EXPECT_EQ(Bound("rigid"), 0);
  ASSERT_TRUE(Until([&] { return world_.Succeeded("urgent"); }));
  ASSERT_TRUE(
      Until([&] { return Condition("rigid", ConditionType::kPreempted) == "False/RunsAgain"; }));
  EXPECT_TRUE(Until([&] { return world_.Succeeded("rigid"); }));
  EXPECT_EQ(world_.Job("rigid").status.preemption().count(), 1);
  EXPECT_EQ(world_.fleet->steps_done(), 400) << "none was trained twice";
  ExpectUnharmed("rigid");
}

TEST_F(QueuesTest, AHigherPriorityTakesThePlaceOfALowerOneInItsQueue) {
  world_.AddNode("node", 10);
  AddQueue("research", 2);
  AddPriority("high", 1000);
  AddJob("low", "research", 2, 2, {}, 300);
  ASSERT_TRUE(Until([&] { return world_.Job("low").status.progress().step() >= 10; }));
  AddJob("high", "research", 2, 2, {{"priorityClassName", "high"}}, 100);
  ASSERT_TRUE(Until([&] { return Trains("high"); }));
  EXPECT_EQ(Condition("low", ConditionType::kPreempted), "True/Priority");
  ASSERT_TRUE(Until([&] { return world_.Succeeded("high"); }));
  EXPECT_TRUE(Until([&] { return world_.Succeeded("low"); }));
  ExpectUnharmed("low");
}

TEST_F(QueuesTest, ALargeJobIsNotStarvedByAStreamOfSmallOnes) {
  world_.AddNode("node", 4);
  AddQueue("research", 4);
  for (int i = 0; i < 4; ++i) AddJob(absl::StrCat("small-", i), "research", 1, 1);
  ASSERT_TRUE(Until([&] { return Trains("small-3"); }));
  AddJob("large", "research", 4, 4);
  int next = 4;
  bool held = false;
  const auto flood = [&] {
    if (next < 60 && world_.Number(0, 20) == 0) {
      AddJob(absl::StrCat("small-", next++), "research", 1, 1);
    }
    const std::string newest = absl::StrCat("small-", next - 1);
    const std::string why = world_.Job(newest).status.placement().reason();
    held = held || why == "HeldByReservation" || why == "QuotaExhausted";
    return Trains("large");
  };
  EXPECT_TRUE(Until(flood));
  EXPECT_TRUE(held);
  EXPECT_THAT(world_.promises.broken(), IsEmpty());
}

TEST_F(QueuesTest, NoJobIsStoppedForCapacityThatIsAboutToBeFree) {
  world_.AddNode("node", 6);
  AddQueue("research", 2, "all");
  AddQueue("product", 4, "all");
  world_.fleet->SetGrace(absl::Seconds(20));
  for (const char* name : {"one", "two", "three"}) AddJob(name, "research", 2, 2, {}, 2000);
  ASSERT_TRUE(Until([&] { return Trains("one") && Trains("two") && Trains("three"); }));
  ASSERT_TRUE(world_.memory->Delete(kube::kTrainingJobs, {"default", "two"}).ok());
  world_.RunFor(absl::Seconds(1));
  AddJob("urgent", "product", 2, 2, {}, 100);
  ASSERT_TRUE(Until(
      [&] { return world_.Job("urgent").status.placement().reason() == "WaitingForVictims"; }));
  ASSERT_TRUE(Until([&] { return Trains("urgent"); }));
  for (const char* name : {"one", "three"}) {
    EXPECT_FALSE(world_.Job(name).status.has_preemption()) << name;
  }
}

class RestartTest : public QueuesTest, public testing::WithParamInterface<int> {
 protected:
  RestartTest() : QueuesTest(GetParam()) {}
};

// Kills the process after the nth write since the preemption was ordered; another one takes its
// place.
TEST_P(RestartTest, InTheMiddleOfAPreemptionGoesOnWithIt) {
  world_.AddNode("node", 4);
  AddQueue("research", 2, "all");
  AddQueue("product", 2, "all");
  // Long enough that the job does not finish while no operator is there to stop it.
  AddJob("rigid", "research", 4, 4, {}, 1500);
  ASSERT_TRUE(Until([&] { return world_.Job("rigid").status.progress().step() >= 10; }));
  int writes = 0;
  world_.SetCallFaults(nullptr, [&](ReplicaWorld::Host& host, const kube::ApiCall& call) {
    const bool ordered = world_.Job("rigid").status.has_preemption();
    if (ordered && kube::IsWrite(call.verb) && ++writes == GetParam()) {
      world_.Kill(host, absl::Seconds(world_.Number(1, 20)));
    }
    return absl::OkStatus();
  });
  AddJob("urgent", "product", 2, 2, {}, 100);
  ASSERT_TRUE(Until([&] { return world_.Succeeded("urgent"); }));
  ASSERT_TRUE(Until([&] { return world_.Succeeded("rigid"); }));
  EXPECT_GE(writes, GetParam());
  EXPECT_EQ(world_.Job("rigid").status.preemption().count(), 1);
  EXPECT_EQ(Condition("rigid", ConditionType::kPreempted), "False/RunsAgain");
  ExpectUnharmed("rigid");
}

// Sanitizer builds skip most of the writes, because each case takes them seconds.
INSTANTIATE_TEST_SUITE_P(Writes, RestartTest,
                         testing::Range(1, 13,
                                        TestIterations({.sanitized = 4, .usual = 1, .full = 1})));

class TakeOverTest : public QueuesTest, public testing::WithParamInterface<bool> {};

// Two queues want the same CPUs, and the first by name has used some before. The other queue's turn
// comes first, both under the leader that saw that use and under one that did not.
TEST_P(TakeOverTest, ANewLeaderOrdersQueuesAsTheOldOneWouldHave) {
  world_.AddNode("node", 2);
  for (const char* name : {"a", "b", "c"}) AddQueue(name, 2);
  AddJob("worked", "a", 2, 2);
  ASSERT_TRUE(Until([&] { return world_.Succeeded("worked"); }));
  AddJob("ahead", "c", 2, 2, {}, 1'000'000);
  ASSERT_TRUE(Until([&] { return Trains("ahead"); }));
  AddJob("of-a", "a", 2, 2);
  AddJob("of-b", "b", 2, 2);
  ASSERT_TRUE(Until([&] {
    return !world_.Job("of-a").status.placement().reason().empty() &&
           !world_.Job("of-b").status.placement().reason().empty();
  }));
  world_.hosts[0].replica->WriteQueues();
  if (GetParam()) {
    const int64_t term = world_.Job("ahead").status.term();
    world_.Kill(world_.hosts[0]);
    ASSERT_TRUE(Until([&] { return world_.Job("ahead").status.term() > term; }));
  }
  world_.RunFor(absl::Seconds(10));
  ASSERT_TRUE(world_.memory->Delete(kube::kTrainingJobs, {"default", "ahead"}).ok());
  ASSERT_TRUE(Until([&] { return Trains("of-a") || Trains("of-b"); }));
  EXPECT_TRUE(Trains("of-b"));
}

TEST_P(TakeOverTest, WhatAJobHasRunDoesNotAgeIt) {
  world_.AddNode("node", 2);
  AddQueue("research", 2);
  AddPriority("high", 10);
  const Json high = {{"priorityClassName", "high"}};
  AddJob("long", "research", 2, 2, {}, 1'000'000);
  ASSERT_TRUE(Until([&] { return Trains("long"); }));
  world_.RunFor(absl::Minutes(20));
  AddJob("first", "research", 2, 2, high, 1'000'000);
  ASSERT_TRUE(Until([&] { return Trains("first"); }));
  AddJob("second", "research", 2, 2, high);
  ASSERT_TRUE(Until([&] {
    return Condition("long", ConditionType::kScheduled) == "False/Queued" &&
           Condition("second", ConditionType::kScheduled) == "False/Queued";
  })) << Condition("long", ConditionType::kScheduled)
      << Condition("second", ConditionType::kScheduled);
  if (GetParam()) {
    const int64_t term = world_.Job("first").status.term();
    world_.Kill(world_.hosts[0]);
    ASSERT_TRUE(Until([&] { return world_.Job("first").status.term() > term; }));
  }
  world_.RunFor(absl::Seconds(10));
  ASSERT_TRUE(world_.memory->Delete(kube::kTrainingJobs, {"default", "first"}).ok());
  ASSERT_TRUE(Until([&] { return Trains("second") || Trains("long"); }));
  EXPECT_TRUE(Trains("second")) << "it waited less, but not by ten minutes";
}

INSTANTIATE_TEST_SUITE_P(IfItIsKilled, TakeOverTest, testing::Bool());

TEST_F(QueuesTest, TheStatusOfAQueueSaysWhoWaitsAndWhatIsUsed) {
  world_.AddNode("node", 10);
  AddQueue("research", 2, "all");
  AddQueue("broken-a", 1, "broken-b");
  AddQueue("broken-b", 1, "broken-a");
  AddJob("first", "research", 2, 2, {}, 1000);
  ASSERT_TRUE(Until([&] { return Trains("first"); }));
  AddJob("second", "research", 2, 2);
  ASSERT_TRUE(
      Until([&] { return Condition("second", ConditionType::kScheduled) == "False/Queued"; }));
  ASSERT_EQ(world_.hosts[0].replica->WriteQueues(), 3);
  world_.RunFor(absl::Seconds(1));
  EXPECT_EQ(world_.hosts[0].replica->WriteQueues(), 0) << "nothing has changed";
  const Json status = world_.memory->Get(kube::kTrainingQueues, {"", "research"}).value()["status"];
  EXPECT_EQ(status["waiting"], 1);
  EXPECT_EQ(status["running"], 1);
  EXPECT_EQ(status["borrowing"], false);
  EXPECT_EQ(status["past"][0]["resource"], "cpu");
  EXPECT_GT(status["past"][0]["amount"], 0);
  EXPECT_EQ(status["conditions"][0]["reason"], "Ready");
  const Json broken = world_.memory->Get(kube::kTrainingQueues, {"", "broken-a"}).value()["status"];
  EXPECT_EQ(broken["conditions"][0]["status"], "False");
  EXPECT_EQ(broken["conditions"][0]["reason"], "ParentsInCircle");
}

}  // namespace
}  // namespace muster::control
