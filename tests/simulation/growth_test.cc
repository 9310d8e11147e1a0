// Tests jobs that grow into free capacity, in the whole operator, on virtual time: capacity that
// appears, another job that wants it, hysteresis, and a process that dies in the middle of it.
#include <functional>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
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

constexpr absl::Duration kSnooze = absl::Minutes(1);
// A step of 16 sequences of 64 tokens takes a tenth of a second.
constexpr int kSteps = 6000;
constexpr int64_t kTokensPerSecond = 10 * 16 * 64;

class GrowthTest : public testing::Test {
 protected:
  explicit GrowthTest(uint64_t seed = 1) : world_({.seed = seed, .election = false}) {
    world_.fleet->SetTokensPerReport(kTokensPerSecond);
  }

  // Creates a job of two workers with a CPU each, and four micro-batches.
  void AddJob(const std::string& name, const Json& spec) { world_.CreateJobOfCpus(name, spec); }
  void AddGrowing(int max = 4) {
    AddJob("grows", {{"workers", {{"count", 2}, {"min", 1}, {"max", max}}},
                     {"elastic", {{"policy", "Grow"}, {"snooze", "1m"}}},
                     {"trainer", {{"train", {{"steps", kSteps}}}}}});
  }
  bool TrainsWith(const std::string& job, int workers) const {
    return world_.Job(job).status.state() == "Training" &&
           world_.fleet->Training(world_.Job(job).uid) == workers;
  }
  std::string Why() const { return world_.Job("grows").status.elastic().reason(); }
  bool Until(const std::function<bool()>& done, absl::Duration limit = absl::Minutes(5)) {
    return world_.RunUntil(done, limit);
  }
  // Every step was trained once, and nothing failed.
  void ExpectUnharmed(int steps) {
    EXPECT_EQ(world_.Job("grows").status.failures().count(), 0);
    EXPECT_EQ(world_.fleet->steps_done(), steps);
    EXPECT_THAT(world_.promises.broken(), IsEmpty());
  }

  ReplicaWorld world_;
};

TEST_F(GrowthTest, AJobGrowsWhenANodeIsAddedAndTrainsEveryStepOnce) {
  world_.AddNode("first", 2);
  AddGrowing();
  ASSERT_TRUE(Until([&] { return TrainsWith("grows", 2) && Why() == "NoCapacity"; }));
  world_.RunFor(absl::Seconds(30));
  EXPECT_TRUE(TrainsWith("grows", 2));
  world_.AddNode("second", 2);
  ASSERT_TRUE(Until([&] { return TrainsWith("grows", 4); }, absl::Seconds(30)));
  EXPECT_TRUE(Until([&] { return Why() == "AtMaximum"; }));
  const v1alpha1::ResizeStatus resize = world_.Job("grows").status.resize();
  EXPECT_EQ(resize.from(), 2);
  EXPECT_EQ(resize.to(), 4);
  EXPECT_GT(resize.pause_seconds(), 0);
  EXPECT_LT(resize.pause_seconds(), 5);
  ASSERT_TRUE(Until([&] { return world_.Succeeded("grows"); }, absl::Minutes(15)));
  EXPECT_EQ(world_.Job("grows").status.round(), 2) << "one resize";
  ExpectUnharmed(kSteps);
}

// The command runs 6000 steps of a tick each, saves every 20th of them, and once more before its
// processes end for the growth.
TEST_F(GrowthTest, ACommandThatReportsItsStepsGrowsAndGoesOnFromItsCheckpoint) {
  world_.fleet->SetReportedCommandSteps(kSteps);
  world_.AddNode("first", 2);
  const Json worker = {
      {"name", "worker"}, {"command", {"train"}}, {"resources", {{"requests", {{"cpu", "1"}}}}}};
  world_.CreateJob("grows", {{"workers", {{"count", 2}, {"min", 1}, {"max", 4}}},
                             {"trainer", nullptr},
                             {"template", {{"spec", {{"containers", {worker}}}}}},
                             {"elastic", {{"policy", "Grow"}, {"snooze", "1m"}}}});
  ASSERT_TRUE(Until([&] { return TrainsWith("grows", 2) && Why() == "NoCapacity"; }));
  world_.AddNode("second", 2);
  ASSERT_TRUE(Until([&] { return TrainsWith("grows", 4); }, absl::Minutes(1)));
  EXPECT_TRUE(Until([&] { return Why() == "AtMaximum"; }));
  EXPECT_EQ(world_.Job("grows").status.resize().to(), 4);
  ASSERT_TRUE(Until([&] { return world_.Succeeded("grows"); }, absl::Minutes(15)));
  EXPECT_EQ(world_.Job("grows").status.failures().count(), 0);
  EXPECT_GE(world_.fleet->steps_done(), kSteps);
  EXPECT_LE(world_.fleet->steps_done(), kSteps + 5) << "steps from the save to the processes' end";
}

TEST_F(GrowthTest, AJobWithPolicyFixedStaysAsItIs) {
  world_.AddNode("node", 4);
  AddJob("grows", {{"workers", {{"count", 2}, {"max", 4}}}});
  ASSERT_TRUE(Until([&] { return world_.Succeeded("grows"); }));
  EXPECT_EQ(world_.Job("grows").status.round(), 1);
  EXPECT_FALSE(world_.Job("grows").status.has_elastic());
}

TEST_F(GrowthTest, AnotherJobGetsTheCapacityAndTheGrownOneWaitsForItsSnooze) {
  world_.AddNode("node", 4);
  AddGrowing();
  ASSERT_TRUE(Until([&] { return TrainsWith("grows", 4); }));
  AddJob("other", {{"workers", {{"count", 2}}}, {"trainer", {{"train", {{"steps", 100}}}}}});
  ASSERT_TRUE(Until([&] { return TrainsWith("other", 2); }, absl::Minutes(1)));
  EXPECT_TRUE(TrainsWith("grows", 2));
  EXPECT_EQ(Why(), "Snoozed");
  EXPECT_EQ(world_.Job("grows").status.preemption().reason(), "Yielded");
  EXPECT_THAT(world_.Job("grows").status.resize().message(),
              HasSubstr("shrinks to 2 workers for default/other"));
  ASSERT_TRUE(Until([&] { return world_.Succeeded("other"); }));
  const absl::Time until = ParseWall(world_.Job("grows").status.elastic().snoozed_until());
  ASSERT_GT(until, world_.clock.Wall()) << "the other one was too slow";
  bool grew = false;
  Until([&] {
    grew = grew || !TrainsWith("grows", 2);
    return world_.clock.Wall() >= until - absl::Seconds(1);
  });
  EXPECT_FALSE(grew) << "there is capacity, but the job is snoozed";
  ASSERT_TRUE(Until([&] { return TrainsWith("grows", 4); }, absl::Minutes(1)));
  ASSERT_TRUE(Until([&] { return world_.Succeeded("grows"); }, absl::Minutes(15)));
  ExpectUnharmed(kSteps + 100);
}

// The other job waits in a queue of its own, behind none, and its priority is the lowest.
TEST_F(GrowthTest, AJobOfAnotherQueueComesBeforeGrowthAsWell) {
  for (const char* name : {"research", "product"}) {
    Json queue = kube::NewObject(kube::kTrainingQueues, {"", name});
    queue["spec"] = {{"quotas", {{{"resource", "cpu"}, {"nominal", "4"}}}}};
    ASSERT_TRUE(world_.memory->Create(kube::kTrainingQueues, queue).ok());
  }
  Json low = kube::NewObject(kube::kPriorityClasses, {"", "low"});
  low["value"] = -1000;
  ASSERT_TRUE(world_.memory->Create(kube::kPriorityClasses, low).ok());
  world_.AddNode("node", 4);
  AddJob("grows", {{"workers", {{"count", 2}, {"min", 1}, {"max", 4}}},
                   {"queue", "research"},
                   {"elastic", {{"policy", "Grow"}, {"snooze", "1m"}}},
                   {"trainer", {{"train", {{"steps", kSteps}}}}}});
  ASSERT_TRUE(Until([&] { return TrainsWith("grows", 4); }));
  AddJob("other", {{"workers", {{"count", 1}}},
                   {"queue", "product"},
                   {"priorityClassName", "low"},
                   {"trainer", {{"train", {{"steps", 100}}}}}});
  ASSERT_TRUE(Until([&] { return TrainsWith("other", 1); }, absl::Minutes(1)));
  EXPECT_TRUE(TrainsWith("grows", 2)) << "three workers would not shorten a step";
  ASSERT_TRUE(Until([&] { return world_.Succeeded("other"); }));
  ASSERT_TRUE(Until([&] { return world_.Succeeded("grows"); }, absl::Minutes(15)));
  ExpectUnharmed(kSteps + 100);
}

TEST_F(GrowthTest, ALostExtraWorkerIsNotReplacedAndTheJobGrowsAgainLater) {
  world_.AddNode("node", 4);
  AddGrowing();
  ASSERT_TRUE(Until([&] { return TrainsWith("grows", 4); }));
  world_.RunFor(absl::Seconds(5));
  world_.fleet->KillAgent(world_.Job("grows").uid, 3);
  ASSERT_TRUE(Until([&] { return TrainsWith("grows", 2) && Why() == "Snoozed"; }));
  ASSERT_TRUE(Until([&] { return TrainsWith("grows", 4); }, kSnooze + absl::Minutes(1)));
  ASSERT_TRUE(Until([&] { return world_.Succeeded("grows"); }, absl::Minutes(15)));
  EXPECT_THAT(world_.promises.broken(), IsEmpty());
}

class GrowthRestartTest : public GrowthTest, public testing::WithParamInterface<int> {
 protected:
  GrowthRestartTest() : GrowthTest(GetParam()) {}
};

// Kills the process after the nth write since the node was added; another one takes its place.
TEST_P(GrowthRestartTest, InTheMiddleOfAGrowthGoesOnWithIt) {
  world_.AddNode("first", 2);
  AddGrowing();
  ASSERT_TRUE(Until([&] { return TrainsWith("grows", 2) && Why() == "NoCapacity"; }));
  world_.AddNode("second", 2);
  int writes = 0;
  world_.SetCallFaults(nullptr, [&](ReplicaWorld::Host& host, const kube::ApiCall& call) {
    if (kube::IsWrite(call.verb) && ++writes == GetParam()) {
      world_.Kill(host, absl::Seconds(world_.Number(1, 20)));
    }
    return absl::OkStatus();
  });
  ASSERT_TRUE(Until([&] { return TrainsWith("grows", 4); }));
  EXPECT_GE(writes, GetParam()) << "the growth has fewer writes: nothing was killed";
  ASSERT_TRUE(Until([&] { return world_.Succeeded("grows"); }, absl::Minutes(15)));
  ExpectUnharmed(kSteps);
}

// Sanitizer builds skip most of the writes, because each case takes them seconds.
INSTANTIATE_TEST_SUITE_P(Writes, GrowthRestartTest,
                         testing::Range(1, 9,
                                        TestIterations({.sanitized = 4, .usual = 1, .full = 1})));

}  // namespace
}  // namespace muster::control
