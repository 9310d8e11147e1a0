#include "operator/queue/book/order.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"

namespace muster::control {
namespace {

OrderKey Key(bool borrows, double share, absl::string_view queue, double rank, double created = 0,
             absl::string_view uid = "") {
  OrderKey key;
  key.borrows = borrows;
  key.share = share;
  key.queue = queue;
  key.rank = rank;
  key.created = absl::UnixEpoch() + absl::Seconds(created);
  key.uid = uid;
  return key;
}

TEST(Order, EachRuleDecidesBeforeTheNext) {
  // Sorted; each neighbour is better by one rule, and worse by all later ones.
  OrderKey claims = Key(true, 0.9, "z", 0, 9, "z");
  claims.claims = true;
  const std::vector<OrderKey> order = {
      claims,
      Key(false, 0.8, "y", 0, 8, "y"),
      Key(true, 0.1, "x", 0, 7, "x"),
      Key(true, 0.5, "a", 0, 6, "w"),
      Key(true, 0.5, "b", 7, 5, "v"),
      Key(true, 0.5, "b", 2, 1, "u"),
      Key(true, 0.5, "b", 2, 2, "a"),
      Key(true, 0.5, "b", 2, 2, "b"),
  };
  for (size_t i = 0; i < order.size(); ++i) {
    for (size_t j = 0; j < order.size(); ++j) {
      EXPECT_EQ(ComesBefore(order[i], order[j]), i < j) << i << " " << j;
    }
  }
}

TEST(Order, IsAStrictTotalOrder) {
  std::mt19937 random(1);
  auto pick = [&](int n) { return static_cast<int>(random() % n); };
  const std::vector<std::string> queues = {"a", "b", "c"};
  // All jobs of a queue share these, as in a cycle.
  const double share[] = {0.5, 0.5, 0.1};
  const bool borrows[] = {false, true, false};
  std::vector<std::string> uids;
  for (int i = 0; i < 40; ++i) uids.push_back(absl::StrCat("u", i));
  std::vector<OrderKey> keys;
  for (int i = 0; i < 40; ++i) {
    const int q = pick(3);
    keys.push_back(Key(borrows[q], share[q], queues[q], pick(3), pick(3), uids[i]));
  }
  for (const OrderKey& a : keys) {
    EXPECT_FALSE(ComesBefore(a, a));
    for (const OrderKey& b : keys) {
      EXPECT_EQ(ComesBefore(a, b) + ComesBefore(b, a), a.uid != b.uid);
      for (const OrderKey& c : keys) {
        EXPECT_TRUE(!ComesBefore(a, b) || !ComesBefore(b, c) || ComesBefore(a, c));
      }
    }
  }
}

TEST(Order, AgingMakesUpForPriority) {
  const absl::Time early = absl::UnixEpoch() + absl::Hours(1);
  const absl::Duration aging = absl::Minutes(1);
  // The rank rises by one a minute: 60 minutes make up for 60, not for 61.
  EXPECT_EQ(AgedRank(0, early, aging), AgedRank(60, early + absl::Hours(1), aging));
  EXPECT_LT(AgedRank(0, early, aging), AgedRank(61, early + absl::Hours(1), aging));
  EXPECT_EQ(AgedRank(5, early, absl::InfiniteDuration()),
            AgedRank(5, early + absl::Hours(9), absl::InfiniteDuration()));
}

}  // namespace
}  // namespace muster::control
