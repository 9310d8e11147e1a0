#include "trainer/comm/operation_tracker.h"

#include <thread>
#include <vector>

#include "gtest/gtest.h"

namespace muster::trainer {
namespace {

TEST(OperationTrackerTest, WaitingEndsWithTheOperation) {
  OperationTracker watch;
  const int64_t first = watch.Started(), second = watch.Started();
  std::thread library([&] {
    watch.Ended(second);
    watch.Ended(first);
  });
  EXPECT_EQ(watch.Await(first, absl::Minutes(1)), absl::OkStatus());
  EXPECT_EQ(watch.Await(second, absl::Minutes(1)), absl::OkStatus());
  EXPECT_FALSE(watch.busy());
  library.join();
}

TEST(OperationTrackerTest, WaitingEndsWhenTheGroupFails) {
  OperationTracker watch;
  const int64_t ended = watch.Started(), asleep = watch.Started();
  watch.Ended(ended);
  std::thread aborter([&] { (void)watch.Fail(absl::AbortedError("prepared")); });
  EXPECT_EQ(watch.Await(asleep, absl::Minutes(1)), absl::AbortedError("prepared"));
  aborter.join();
  EXPECT_EQ(watch.Await(ended, absl::ZeroDuration()), absl::OkStatus());
  EXPECT_TRUE(watch.busy());
}

TEST(OperationTrackerTest, AnOperationThatBreaksEndsTheWaitForAnotherThatSleeps) {
  OperationTracker watch;
  const int64_t asleep = watch.Started(), broken = watch.Started();
  std::thread library([&] { watch.Broke(broken, absl::UnavailableError("a peer is gone")); });
  EXPECT_EQ(watch.Await(asleep, absl::Minutes(1)), absl::UnavailableError("a peer is gone"));
  library.join();
  EXPECT_EQ(watch.Fail(absl::AbortedError("later")), absl::UnavailableError("a peer is gone"));
  EXPECT_EQ(watch.Await(broken, absl::Minutes(1)), absl::UnavailableError("a peer is gone"));
  EXPECT_TRUE(watch.Settle(broken));
}

TEST(OperationTrackerTest, ASilentPeerExceedsTheLimit) {
  OperationTracker watch;
  EXPECT_EQ(
      watch.Await(watch.Started(), absl::Milliseconds(1)),
      absl::DeadlineExceededError("a peer is silent: the operation has not ended within 1ms"));
  EXPECT_EQ(watch.failure(), absl::OkStatus());
}

TEST(OperationTrackerTest, OperationsThatSleepAreGivenUpTogether) {
  OperationTracker watch;
  std::vector<int64_t> asleep;
  for (int i = 0; i < 1000; ++i) asleep.push_back(watch.Started());
  (void)watch.Fail(absl::AbortedError("prepared"));
  for (const int64_t operation : asleep) EXPECT_FALSE(watch.Settle(operation));
}

TEST(OperationTrackerTest, SettlingWaitsForAnOperationThatStillEnds) {
  OperationTracker watch;
  const int64_t operation = watch.Started();
  (void)watch.Fail(absl::AbortedError("prepared"));
  std::thread library([&] { watch.Ended(operation); });
  EXPECT_TRUE(watch.Settle(operation));
  library.join();
}

}  // namespace
}  // namespace muster::trainer
