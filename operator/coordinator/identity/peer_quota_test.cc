#include "operator/coordinator/identity/peer_quota.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"

namespace muster::control {
namespace {

constexpr QuotaLimits kLimits = {.peer_rate = 1, .peer_burst = 3, .rate = 10, .burst = 5};

TEST(PeerQuotaTest, APeerHasABurstAndThenItsRate) {
  PeerQuota quota(kLimits);
  absl::Time now = absl::FromUnixSeconds(100);
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(quota.Take("a", now));
  EXPECT_FALSE(quota.Take("a", now));
  now += absl::Milliseconds(999);
  EXPECT_FALSE(quota.Take("a", now));
  now += absl::Milliseconds(2);
  EXPECT_TRUE(quota.Take("a", now));
  EXPECT_FALSE(quota.Take("a", now));
}

TEST(PeerQuotaTest, ARefusedRequestCostsOtherPeersNothing) {
  PeerQuota quota(kLimits);
  const absl::Time now = absl::FromUnixSeconds(100);
  for (int i = 0; i < 100; ++i) quota.Take("a", now);
  EXPECT_TRUE(quota.Take("b", now));
  EXPECT_TRUE(quota.Take("b", now));
}

TEST(PeerQuotaTest, AllPeersTogetherHaveALimitOfTheirOwn) {
  PeerQuota quota(kLimits);
  const absl::Time now = absl::FromUnixSeconds(100);
  int taken = 0;
  for (int i = 0; i < 100; ++i) taken += quota.Take(absl::StrCat("peer-", i), now) ? 1 : 0;
  EXPECT_EQ(taken, 5);
}

TEST(PeerQuotaTest, ManyPeersDoNotFillTheMemory) {
  PeerQuota quota({.peer_rate = 1, .peer_burst = 1, .rate = 1e9, .burst = 1e9});
  absl::Time now = absl::FromUnixSeconds(100);
  for (int i = 0; i < 10000; ++i) {
    now += absl::Milliseconds(100);
    quota.Take(absl::StrCat("peer-", i), now);
  }
  EXPECT_LE(quota.peers(), 130u) << "those whose bucket is full again are forgotten";
  for (int i = 0; i < 2 * static_cast<int>(PeerQuota::kMaxPeers); ++i) {
    quota.Take(absl::StrCat("crowd-", i), now);
  }
  EXPECT_EQ(quota.peers(), PeerQuota::kMaxPeers);
}

}  // namespace
}  // namespace muster::control
