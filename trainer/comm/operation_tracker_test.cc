#include "trainer/comm/operation_tracker.h"

#include <thread>
#include <vector>

#include "gtest/gtest.h"

namespace muster::trainer {
namespace {

TEST(OperationTrackerTest, WaitingEndsWithTheOperation) {
  OperationTracker tracker;
  const int64_t first = tracker.Started(), second = tracker.Started();
  std::thread library([&] {
    tracker.Ended(second);
    tracker.Ended(first);
  });
  EXPECT_EQ(tracker.Await(first, absl::Minutes(1)), absl::OkStatus());
  EXPECT_EQ(tracker.Await(second, absl::Minutes(1)), absl::OkStatus());
  EXPECT_FALSE(tracker.busy());
  library.join();
}

TEST(OperationTrackerTest, WaitingEndsWhenTheGroupFails) {
  OperationTracker tracker;
  const int64_t ended = tracker.Started(), asleep = tracker.Started();
  tracker.Ended(ended);
  std::thread aborter([&] { (void)tracker.Fail(absl::AbortedError("prepared")); });
  EXPECT_EQ(tracker.Await(asleep, absl::Minutes(1)), absl::AbortedError("prepared"));
  aborter.join();
  EXPECT_EQ(tracker.Await(ended, absl::ZeroDuration()), absl::OkStatus());
  EXPECT_TRUE(tracker.busy());
}

TEST(OperationTrackerTest, AnOperationThatBreaksEndsTheWaitForAnotherThatSleeps) {
  OperationTracker tracker;
  const int64_t asleep = tracker.Started(), broken = tracker.Started();
  std::thread library([&] { tracker.Broke(broken, absl::UnavailableError("a peer is gone")); });
  EXPECT_EQ(tracker.Await(asleep, absl::Minutes(1)), absl::UnavailableError("a peer is gone"));
  library.join();
  EXPECT_EQ(tracker.Fail(absl::AbortedError("later")), absl::UnavailableError("a peer is gone"));
  EXPECT_EQ(tracker.Await(broken, absl::Minutes(1)), absl::UnavailableError("a peer is gone"));
  EXPECT_TRUE(tracker.Settle(broken));
}

TEST(OperationTrackerTest, ASilentPeerExceedsTheLimit) {
  OperationTracker tracker;
  EXPECT_EQ(
      tracker.Await(tracker.Started(), absl::Milliseconds(1)),
      absl::DeadlineExceededError("a peer is silent: the operation has not ended within 1ms"));
  EXPECT_EQ(tracker.failure(), absl::OkStatus());
}

TEST(OperationTrackerTest, OperationsThatSleepAreGivenUpTogether) {
  OperationTracker tracker;
  std::vector<int64_t> asleep;
  for (int i = 0; i < 1000; ++i) asleep.push_back(tracker.Started());
  (void)tracker.Fail(absl::AbortedError("prepared"));
  for (const int64_t operation : asleep) EXPECT_FALSE(tracker.Settle(operation));
}

TEST(OperationTrackerTest, SettlingWaitsForAnOperationThatStillEnds) {
  OperationTracker tracker;
  const int64_t operation = tracker.Started();
  (void)tracker.Fail(absl::AbortedError("prepared"));
  std::thread library([&] { tracker.Ended(operation); });
  EXPECT_TRUE(tracker.Settle(operation));
  library.join();
}

}  // namespace
}  // namespace muster::trainer
