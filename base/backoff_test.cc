#include "base/backoff.h"

#include "absl/time/time.h"
#include "gtest/gtest.h"

namespace muster {
namespace {

constexpr BackoffBounds kBounds = {absl::Seconds(1), absl::Seconds(60)};

TEST(BackoffTest, DoublesFromTheFirstWaitToTheLongest) {
  EXPECT_EQ(BackoffAfter(0, kBounds), absl::ZeroDuration());
  EXPECT_EQ(BackoffAfter(1, kBounds), absl::Seconds(1));
  EXPECT_EQ(BackoffAfter(2, kBounds), absl::Seconds(2));
  EXPECT_EQ(BackoffAfter(6, kBounds), absl::Seconds(32));
  EXPECT_EQ(BackoffAfter(7, kBounds), absl::Seconds(60));
  EXPECT_EQ(BackoffAfter(1'000'000, kBounds), absl::Seconds(60));
}

TEST(BackoffTest, ALongestBelowTheFirstWins) {
  EXPECT_EQ(BackoffAfter(1, {absl::Seconds(10), absl::Seconds(3)}), absl::Seconds(3));
}

}  // namespace
}  // namespace muster
