#include "operator/app/start_retry.h"

#include <algorithm>
#include <vector>

#include "absl/time/time.h"
#include "base/testing/manual_clock.h"
#include "gtest/gtest.h"

namespace muster::control {
namespace {

class StartRetryTest : public testing::Test {
 protected:
  // Makes attempts that each take `took` and end as `statuses` say; the last status is repeated.
  absl::Status Retry(std::vector<absl::Status> statuses, absl::Duration took) {
    return RetryAtStart(
        clock_,
        [&] {
          clock_.Advance(took);
          return statuses[std::min<size_t>(attempts_++, statuses.size() - 1)];
        },
        [this](absl::Duration pause) {
          waits_.push_back(pause);
          clock_.Advance(pause);
        });
  }

  ManualClock clock_;
  const absl::Time start_ = clock_.Monotonic();
  size_t attempts_ = 0;
  std::vector<absl::Duration> waits_;
};

const absl::Status kRefused = absl::UnavailableError("it cannot be reached");
const absl::Status kSilent = absl::DeadlineExceededError("it did not answer in time");

// Regression: an operator that started while the API server restarted ended at the first refused
// connection, and kubelet restarts a container that ends again and again only every 5 minutes.
TEST_F(StartRetryTest, AServerThatRestartsIsAwaited) {
  EXPECT_TRUE(Retry({kRefused, kSilent, kRefused, absl::OkStatus()}, absl::Seconds(1)).ok());
  EXPECT_EQ(attempts_, 4u);
  EXPECT_EQ(waits_, (std::vector<absl::Duration>{absl::Milliseconds(100), absl::Milliseconds(200),
                                                 absl::Milliseconds(400)}));
}

TEST_F(StartRetryTest, AServerThatRefusesIsGivenUpAtTheDeadline) {
  EXPECT_EQ(Retry({kRefused}, absl::ZeroDuration()), kRefused);
  EXPECT_LT(clock_.Monotonic() - start_, kReachDeadline);
  EXPECT_GT(clock_.Monotonic() - start_, kReachDeadline - kStartBackoff.longest);
  EXPECT_EQ(*std::max_element(waits_.begin(), waits_.end()), kStartBackoff.longest);
}

// Connections are accepted, but nothing is answered on them.
TEST_F(StartRetryTest, ASilentServerIsGivenUpOneCallAfterTheDeadlineAtTheLatest) {
  const absl::Duration call = absl::Seconds(5);
  EXPECT_EQ(Retry({kSilent}, call), kSilent);
  EXPECT_LE(clock_.Monotonic() - start_, kReachDeadline + call);
  EXPECT_GT(attempts_, 1u);
}

TEST_F(StartRetryTest, ARefusedRequestIsNotTriedAgain) {
  const absl::Status forbidden = absl::PermissionDeniedError("secrets is forbidden");
  EXPECT_EQ(Retry({forbidden}, absl::ZeroDuration()), forbidden);
  EXPECT_EQ(attempts_, 1u);
}

constexpr absl::Duration kNever = -absl::InfiniteDuration();

TEST(CacheSyncTimeoutTest, AServerWhoseCallsFailIsGivenUpSoon) {
  EXPECT_FALSE(SyncTookTooLong(absl::Seconds(29), absl::Seconds(28)));
  EXPECT_TRUE(SyncTookTooLong(absl::Seconds(30), absl::Seconds(28)));
}

TEST(CacheSyncTimeoutTest, ALongFirstListHasTenMinutes) {
  EXPECT_FALSE(SyncTookTooLong(absl::Seconds(30), kNever));
  EXPECT_FALSE(SyncTookTooLong(absl::Minutes(10) - absl::Seconds(1), kNever));
  EXPECT_TRUE(SyncTookTooLong(absl::Minutes(10), kNever));
}

TEST(CacheSyncTimeoutTest, AFailureAtTheBeginningDoesNotCutALongListShort) {
  EXPECT_FALSE(SyncTookTooLong(absl::Minutes(2), absl::Seconds(5)));
  EXPECT_TRUE(SyncTookTooLong(absl::Minutes(2), absl::Seconds(70))) << "it fails again and again";
}

}  // namespace
}  // namespace muster::control
