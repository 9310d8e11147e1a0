#include "operator/app/cache_sync_timeout.h"

#include "absl/time/time.h"
#include "gtest/gtest.h"

namespace muster::control {
namespace {

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
