#include "operator/reconcile/work_queue.h"

#include <map>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/mutex.h"
#include "base/testing/manual_clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace muster::control {
namespace {

class WorkQueueTest : public testing::Test {
 protected:
  ManualClock clock_;
  WorkQueue queue_{clock_};
};

TEST_F(WorkQueueTest, AKeyWaitsOnceHoweverOftenItIsAdded) {
  queue_.Add("a");
  queue_.Add("b");
  queue_.Add("a");
  EXPECT_EQ(queue_.TryGet(), "a");
  EXPECT_EQ(queue_.TryGet(), "b");
  EXPECT_EQ(queue_.TryGet(), std::nullopt);
}

TEST_F(WorkQueueTest, AKeyAddedWhileWorkedOnComesBackAfterDone) {
  queue_.Add("a");
  ASSERT_EQ(queue_.TryGet(), "a");
  queue_.Add("a");
  EXPECT_EQ(queue_.TryGet(), std::nullopt);
  queue_.Done("a");
  EXPECT_EQ(queue_.TryGet(), "a");
  queue_.Done("a");
  EXPECT_EQ(queue_.TryGet(), std::nullopt);
}

TEST_F(WorkQueueTest, TheEarliestOfSeveralDelayedAddsCounts) {
  queue_.AddAfter("a", absl::Seconds(10));
  queue_.AddAfter("a", absl::Seconds(3));
  queue_.AddAfter("a", absl::Seconds(7));
  clock_.Advance(absl::Seconds(2));
  EXPECT_EQ(queue_.TryGet(), std::nullopt);
  clock_.Advance(absl::Seconds(1));
  EXPECT_EQ(queue_.TryGet(), "a");
  queue_.Done("a");
  clock_.Advance(absl::Seconds(20));
  EXPECT_EQ(queue_.TryGet(), std::nullopt);
}

TEST_F(WorkQueueTest, KeysThatCanWaitComeAfterOtherWorkButNotForEver) {
  queue_.AddWhenIdle("late", absl::Seconds(1));
  clock_.Advance(absl::Seconds(2));
  queue_.Add("a");
  EXPECT_EQ(queue_.TryGet(), "a");
  queue_.Add("b");
  EXPECT_EQ(queue_.TryGet(), "b");
  EXPECT_EQ(queue_.stats().waiting, 1u);
  clock_.Advance(WorkQueue::Options().patience);
  queue_.Add("c");
  EXPECT_EQ(queue_.TryGet(), "late");
  EXPECT_EQ(queue_.TryGet(), "c");
}

TEST_F(WorkQueueTest, AKeyThatCanWaitIsHandedOutOnceItIsAddedOrNothingElseIsReady) {
  queue_.AddWhenIdle("a", absl::ZeroDuration());
  queue_.AddWhenIdle("b", absl::ZeroDuration());
  EXPECT_EQ(queue_.TryGet(), "a");
  queue_.Add("c");
  queue_.Add("b");
  EXPECT_EQ(queue_.TryGet(), "c");
  EXPECT_EQ(queue_.TryGet(), "b");
  EXPECT_EQ(queue_.TryGet(), std::nullopt);
  EXPECT_EQ(queue_.stats().waiting, 0u);
}

TEST_F(WorkQueueTest, BackOffDoublesUpToItsCapUntilForgotten) {
  const auto delay = [&] {
    queue_.AddRateLimited("a");
    const absl::Duration wait = *queue_.next_due() - clock_.Monotonic();
    clock_.Advance(wait);
    EXPECT_EQ(queue_.TryGet(), "a");
    queue_.Done("a");
    return wait;
  };
  absl::Duration expected = absl::Milliseconds(50);
  for (int i = 0; i < 20; ++i) {
    const absl::Duration wait = delay();
    EXPECT_GE(wait, expected);
    EXPECT_LE(wait, expected * 1.25);
    expected = std::min(expected * 2, absl::Seconds(60));
  }
  queue_.Forget("a");
  EXPECT_LE(delay(), absl::Milliseconds(63));
}

TEST_F(WorkQueueTest, ShutdownWakesEveryWaiter) {
  std::vector<std::thread> waiters;
  for (int i = 0; i < 4; ++i) {
    waiters.emplace_back([&] { EXPECT_EQ(queue_.Get(), std::nullopt); });
  }
  queue_.Shutdown();
  for (std::thread& waiter : waiters) waiter.join();
  queue_.Add("late");
  EXPECT_EQ(queue_.Get(), std::nullopt);
}

// Applies random operations and compares with a model: the queue's promises hold after each.
TEST_F(WorkQueueTest, PropertyNoKeyIsLostOrWorkedOnTwiceAtOnce) {
  for (uint64_t seed = 0; seed < 50; ++seed) {
    std::mt19937_64 random(seed);
    const auto pick = [&](int n) { return std::uniform_int_distribution<int>(0, n - 1)(random); };
    WorkQueue queue(clock_);
    std::set<std::string> working;
    std::set<std::string> owed;  // added since it was last taken
    for (int step = 0; step < 500; ++step) {
      const std::string key = absl::StrCat("k", pick(6));
      switch (pick(6)) {
        case 0:
          queue.Add(key);
          owed.insert(key);
          break;
        case 1:
          queue.AddAfter(key, absl::Milliseconds(pick(500)));
          owed.insert(key);
          break;
        case 2:
          queue.AddRateLimited(key);
          owed.insert(key);
          break;
        case 3:
          clock_.Advance(absl::Milliseconds(pick(300)));
          break;
        case 4:
          if (const auto got = queue.TryGet()) {
            EXPECT_TRUE(working.insert(*got).second) << *got << " handed out twice, seed " << seed;
            EXPECT_EQ(owed.count(*got), 1u) << *got << " handed out for nothing, seed " << seed;
            // An earlier add may be served while a delayed one still waits.
            if (queue.stats().delayed == 0) owed.erase(*got);
          }
          break;
        default:
          if (!working.empty()) {
            queue.Done(*working.begin());
            working.erase(working.begin());
          }
      }
    }
    for (const std::string& key : working) queue.Done(key);
    clock_.Advance(absl::Minutes(10));
    std::set<std::string> last;
    while (const auto got = queue.TryGet()) {
      EXPECT_TRUE(last.insert(*got).second);
      queue.Done(*got);
    }
    EXPECT_EQ(queue.stats().waiting + queue.stats().delayed + queue.stats().in_progress, 0u);
  }
}

TEST_F(WorkQueueTest, EveryAddIsServedByManyWorkers) {
  constexpr int kKeys = 20;
  Mutex mu;
  std::set<std::string> working;
  std::map<std::string, int> served;
  std::vector<std::thread> workers;
  for (int i = 0; i < 4; ++i) {
    workers.emplace_back([&] {
      while (const auto key = queue_.Get()) {
        {
          MutexLock lock(mu);
          EXPECT_TRUE(working.insert(*key).second);
          ++served[*key];
        }
        {
          MutexLock lock(mu);
          working.erase(*key);
        }
        queue_.Done(*key);
      }
    });
  }
  for (int i = 0; i < 2000; ++i) queue_.Add(absl::StrCat("k", i % kKeys));
  while (queue_.stats().waiting + queue_.stats().in_progress > 0) std::this_thread::yield();
  queue_.Shutdown();
  for (std::thread& worker : workers) worker.join();
  EXPECT_EQ(served.size(), static_cast<size_t>(kKeys));
}

class Times final : public WorkQueueObserver {
 public:
  void Taken(absl::Duration time) override { waited.push_back(time); }
  void Finished(absl::Duration time) override { worked.push_back(time); }
  std::vector<absl::Duration> waited;
  std::vector<absl::Duration> worked;
};

TEST_F(WorkQueueTest, ReportsHowLongKeysWaitedAndWereWorkedOn) {
  Times times;
  WorkQueue queue(clock_, WorkQueue::Options(), &times);
  queue.Add("a");
  clock_.Advance(absl::Seconds(2));
  queue.Add("a");  // it waits already: the first Add counts
  ASSERT_EQ(queue.TryGet(), "a");
  clock_.Advance(absl::Seconds(3));
  queue.Add("a");  // it comes back after Done, and waits from then on
  EXPECT_EQ(queue.stats().longest_running, absl::Seconds(3));
  clock_.Advance(absl::Seconds(1));
  queue.Done("a");
  EXPECT_EQ(queue.stats().longest_running, absl::ZeroDuration());
  clock_.Advance(absl::Seconds(5));
  ASSERT_EQ(queue.TryGet(), "a");
  EXPECT_THAT(times.waited, testing::ElementsAre(absl::Seconds(2), absl::Seconds(5)));
  EXPECT_THAT(times.worked, testing::ElementsAre(absl::Seconds(4)));
}

}  // namespace
}  // namespace muster::control
