// Tests QueueSpec::shrink_after: jobs that wait get workers of elastic jobs of their own queue.
#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
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

QueueSpec Patient(const std::string& name, int64_t gpus, double shrink_after) {
  QueueSpec queue = Queue(name, "", gpus);
  queue.shrink_after = absl::Seconds(shrink_after);
  return queue;
}

QueuedJob Elastic(const std::string& uid, int workers, int min, double created = 0) {
  QueuedJob job = Job(uid, "q", workers, 8, 0, created);
  job.request.min = min;
  return job;
}

void CycleAt(World& world, double seconds) {
  world.now = At(seconds);
  world.Cycle();
}

TEST(Backlog, AJobThatHasWaitedLongEnoughGetsWorkersOfAnElasticOneOfItsPriority) {
  World world(Racks(1, 4), {Patient("q", 32, 60)});
  world.Submit(Elastic("elastic", 4, 1));
  CycleAt(world, 0);
  world.now = At(10);
  world.Submit(Job("waits", "q", 2, 8, 0, 10));
  CycleAt(world, 69);
  EXPECT_EQ(world.Of("elastic").job, "");
  EXPECT_THAT(Sentence(world.Of("waits"), world.now),
              HasSubstr("elastic jobs of its queue may shrink for it in 1s"));
  CycleAt(world, 70);
  EXPECT_EQ(world.Of("elastic").action, A::kShrink);
  EXPECT_EQ(world.Of("elastic").reason, R::kBacklog);
  EXPECT_EQ(world.Of("elastic").workers, 2) << "no more than is needed";
  EXPECT_THAT(Sentence(world.Of("elastic"), world.now),
              HasSubstr("which has waited for the shrinkAfter of queue \"q\""));
  world.LetLeaversGo();
  CycleAt(world, 80);
  EXPECT_EQ(world.Workers("waits"), 2);
  world.Finish("waits");
  CycleAt(world, 90);
  EXPECT_EQ(world.Workers("elastic"), 4) << "nothing waits, so it grows again";
}

// All of them are told in one cycle, so that a job changes its size once for many that wait.
TEST(Backlog, TheMoreJobsWaitTheMoreWorkersRunningJobsGive) {
  for (const int waiting : {1, 2, 3, 4}) {
    World world(Racks(1, 6), {Patient("q", 48, 60)});
    world.Submit(Elastic("one", 3, 1));
    world.Submit(Elastic("two", 3, 1));
    CycleAt(world, 0);
    for (int i = 0; i < waiting; ++i) world.Submit(Job(absl::StrCat("w", i), "q", 1, 8, 0, 1));
    CycleAt(world, 61);
    world.LetLeaversGo();
    CycleAt(world, 62);
    EXPECT_EQ(world.Workers("one") + world.Workers("two"), 6 - waiting);
    EXPECT_GE(std::min(world.Workers("one"), world.Workers("two")), 1);
  }
}

TEST(Backlog, AFifthJobGetsNothingWhenAllHaveTheirSmallestSize) {
  World world(Racks(1, 6), {Patient("q", 48, 60)});
  world.Submit(Elastic("one", 3, 1));
  world.Submit(Elastic("two", 3, 1));
  CycleAt(world, 0);
  for (int i = 0; i < 5; ++i) world.Submit(Job(absl::StrCat("w", i), "q", 1, 8, 0, 1 + i));
  CycleAt(world, 100);
  world.LetLeaversGo();
  CycleAt(world, 110);
  EXPECT_EQ(world.Workers("one"), 1);
  EXPECT_EQ(world.Workers("two"), 1);
  EXPECT_FALSE(world.Runs("w4"));
}

TEST(Backlog, WithoutShrinkAfterAJobOfTheSamePriorityWaits) {
  World world(Racks(1, 4), {Queue("q", "", 32)});
  world.Submit(Elastic("elastic", 4, 1));
  CycleAt(world, 0);
  world.Submit(Job("waits", "q", 2, 8, 0, 10));
  CycleAt(world, 100'000);
  EXPECT_EQ(world.Of("elastic").job, "");
  EXPECT_FALSE(world.Runs("waits"));
}

TEST(Backlog, JobsOfAHigherPriorityAndThoseInTheirMinRuntimeGiveNothing) {
  QueueSpec queue = Patient("q", 64, 60);
  queue.min_runtime = absl::Seconds(200);
  World world(Racks(1, 8), {queue});
  QueuedJob important = Elastic("important", 4, 1);
  important.priority = 10;
  world.Submit(important);
  world.Submit(Elastic("young", 4, 1));
  CycleAt(world, 0);
  world.Submit(Job("waits", "q", 1, 8, 0, 1));
  CycleAt(world, 199);
  EXPECT_EQ(world.Of("young").job, "");
  EXPECT_EQ(world.Of("important").job, "");
  EXPECT_THAT(Sentence(world.Of("waits"), world.now), HasSubstr("minRuntime"));
  CycleAt(world, 200);
  EXPECT_EQ(world.Of("young").workers, 3);
  EXPECT_EQ(world.Of("important").job, "");
}

// The newcomer takes workers of the job with the lower priority first. No job is stopped only
// because another one has waited.
TEST(Backlog, JobsOfALowerPriorityGiveFirstAndNoneIsStopped) {
  QueueSpec queue = Patient("q", 32, 60);
  World world(Racks(1, 4), {queue});
  QueuedJob low = Elastic("low", 2, 1);
  low.priority = -5;
  world.Submit(Elastic("same", 2, 1));
  world.Submit(low);
  CycleAt(world, 0);
  world.Submit(Job("waits", "q", 1, 8, 0, 1));
  CycleAt(world, 61);
  EXPECT_EQ(world.Of("low").workers, 1);
  EXPECT_EQ(world.Of("low").reason, R::kPriority);
  EXPECT_EQ(world.Of("same").job, "");
}

TEST(Backlog, OtherQueuesAreLeftAlone) {
  World world(Racks(1, 4), {Patient("q", 16, 60), Queue("other", "", 16)});
  QueuedJob other = Elastic("other", 2, 1);
  other.queue = "other";
  world.Submit(other);
  world.Submit(Job("fixed", "q", 2));
  CycleAt(world, 0);
  world.Submit(Job("waits", "q", 1, 8, 0, 1));
  CycleAt(world, 1000);
  EXPECT_EQ(world.Of("other").job, "");
  EXPECT_FALSE(world.Runs("waits"));
}

// Jobs arrive and end at random. If the first job in line has waited for shrink_after and no worker
// is leaving, then the job would not fit even if all others had their smallest sizes. No job is
// ever stopped.
TEST(Backlog, NoJobWaitsLongerThanThatForWorkersThatOthersCanSpare) {
  for (int seed = 0; seed < 200; ++seed) {
    std::mt19937 random(seed);
    const auto draw = [&random](int below) { return static_cast<int>(random() % below); };
    const int nodes = 4 + draw(8);
    World world(Racks(1, nodes), {Patient("q", 8 * nodes, 60)});
    std::vector<std::string> jobs;
    for (int step = 0; step < 60; ++step) {
      world.now = At(20 * step);
      if (draw(2) == 0) {
        jobs.push_back(absl::StrCat("j", step));
        const int workers = 1 + draw(4);
        world.Submit(Elastic(jobs.back(), workers, 1 + draw(workers), 20 * step));
      }
      if (!jobs.empty() && draw(6) == 0) {
        const auto ends = jobs.begin() + draw(static_cast<int>(jobs.size()));
        if (world.Runs(*ends)) {
          world.Finish(*ends);
          jobs.erase(ends);
        }
      }
      world.Cycle();
      for (const Decision& decision : world.last) {
        ASSERT_NE(decision.action, A::kStop) << "seed " << seed;
      }
      const bool leaving = std::any_of(jobs.begin(), jobs.end(), [&](const std::string& uid) {
        return world.book.Find(uid)->leaving > 0;
      });
      if (leaving) {
        world.LetLeaversGo();
        continue;
      }
      const std::vector<const QueuedJob*> waiting = world.book.WaitingInOrder("q");
      if (waiting.empty()) continue;
      const QueuedJob& first = *waiting.front();
      if (world.now - first.created < absl::Seconds(60)) continue;
      int kept = 0;
      for (const std::string& uid : jobs) {
        const QueuedJob& job = *world.book.Find(uid);
        if (job.running()) kept += std::min(job.workers(), job.request.min);
      }
      ASSERT_GT(kept + first.request.min, nodes) << "seed " << seed << ": " << first.uid;
    }
  }
}

}  // namespace
}  // namespace muster::control
