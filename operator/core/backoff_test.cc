#include "operator/core/backoff.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"

namespace muster::control {
namespace {

absl::Duration Wait(int streak, const std::string& seed = "uid") {
  return Backoff(streak, {absl::Seconds(1), absl::Minutes(1)}, seed);
}

TEST(BackoffTest, DoublesUpToTheCapAndAddsUpToAQuarter) {
  EXPECT_EQ(Wait(0), absl::ZeroDuration());
  for (const auto& [streak, wait] : {std::pair(1, absl::Seconds(1)), std::pair(4, absl::Seconds(8)),
                                     std::pair(1000, absl::Minutes(1))}) {
    EXPECT_GE(Wait(streak), wait);
    EXPECT_LE(Wait(streak), wait * 1.25);
  }
}

TEST(BackoffTest, JobsWaitDifferentlyAndOneJobAlwaysWaitsTheSame) {
  EXPECT_EQ(Wait(3), Wait(3));
  std::set<absl::Duration> waits;
  absl::Duration least = absl::InfiniteDuration();
  absl::Duration most;
  for (int i = 0; i < 100; ++i) {
    const absl::Duration wait = Wait(7, absl::StrCat("uid-", i));
    waits.insert(wait);
    least = std::min(least, wait);
    most = std::max(most, wait);
  }
  EXPECT_GT(waits.size(), 95u);
  EXPECT_GT(most - least, absl::Seconds(10)) << "of at most 15 seconds";
}

}  // namespace
}  // namespace muster::control
