#include "operator/queue/book/quota_tree.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"

namespace muster::control {
namespace {

QueueSpec Queue(const std::string& name, const std::string& parent, int64_t nominal,
                int64_t borrow = -1, int64_t lend = -1) {
  QueueSpec spec;
  spec.name = name;
  spec.parent = parent;
  Quota quota{"gpu", nominal, {}, {}};
  if (borrow >= 0) quota.borrow_limit = borrow;
  if (lend >= 0) quota.lend_limit = lend;
  spec.quotas = {quota};
  return spec;
}

QuotaNeed Gpus(int64_t amount) { return {{0, amount}}; }

TEST(QuotaTree, QueuesOfACohortBorrowWhatOthersLeave) {
  const QuotaTree tree({Queue("a", "team", 10), Queue("b", "team", 10)});
  const int a = tree.FindQueue("a");
  const int b = tree.FindQueue("b");
  QuotaUse use(tree);
  EXPECT_EQ(use.Available(a, 0), 20);
  use.Add(b, Gpus(4));
  EXPECT_EQ(use.Available(a, 0), 16);
  use.Add(a, Gpus(16));
  EXPECT_EQ(use.Available(a, 0), 0);
  EXPECT_FALSE(use.Fits(b, Gpus(1)));
  EXPECT_TRUE(use.OverQuota(a, Gpus(0)));
  EXPECT_TRUE(use.MayReclaim(b, Gpus(6), Gpus(6), a));
  EXPECT_FALSE(use.MayReclaim(b, Gpus(7), Gpus(7), a)) << "7 more would be borrowed";
  EXPECT_FALSE(use.MayReclaim(a, Gpus(1), Gpus(1), b)) << "b is within its own";
}

TEST(QuotaTree, LimitsOfBorrowingAndLending) {
  const QuotaTree tree({Queue("a", "team", 10, 5), Queue("b", "team", 10, -1, 3)});
  const int a = tree.FindQueue("a");
  const int b = tree.FindQueue("b");
  QuotaUse use(tree);
  EXPECT_EQ(use.Available(a, 0), 13) << "b lends 3";
  EXPECT_EQ(use.Available(b, 0), 20);
  EXPECT_EQ(tree.Potential(a, 0), 13);
  EXPECT_EQ(tree.Potential(b, 0), 20);
  use.Add(b, Gpus(8));
  EXPECT_EQ(use.Available(a, 0), 12) << "one of the three that b lends is in use";
  const QuotaTree tight({Queue("a", "team", 10, 2), Queue("b", "team", 10)});
  EXPECT_EQ(QuotaUse(tight).Available(tight.FindQueue("a"), 0), 12);
}

TEST(QuotaTree, ACohortOfCohorts) {
  std::vector<QueueSpec> queues = {Queue("a", "research", 8), Queue("b", "research", 8),
                                   Queue("c", "serving", 8), Queue("research", "all", 0),
                                   Queue("serving", "all", 4)};
  const QuotaTree tree(queues);
  EXPECT_EQ(tree.root(tree.FindQueue("a")), tree.FindQueue("all"));
  EXPECT_TRUE(tree.is_cohort(tree.FindQueue("research")));
  QuotaUse use(tree);
  EXPECT_EQ(use.Available(tree.FindQueue("a"), 0), 28);
  use.Add(tree.FindQueue("a"), Gpus(10));
  EXPECT_FALSE(use.MayReclaim(tree.FindQueue("c"), Gpus(1), Gpus(1), tree.FindQueue("a")))
      << "research as a whole is within its quota";
  EXPECT_TRUE(use.MayReclaim(tree.FindQueue("b"), Gpus(1), Gpus(1), tree.FindQueue("a")));
  use.Add(tree.FindQueue("a"), Gpus(8));
  EXPECT_TRUE(use.MayReclaim(tree.FindQueue("c"), Gpus(12), Gpus(12), tree.FindQueue("a")))
      << "serving has 4 of its own besides c's 8";
  EXPECT_FALSE(use.MayReclaim(tree.FindQueue("c"), Gpus(13), Gpus(13), tree.FindQueue("a")));
}

TEST(QuotaTree, WhatNobodyListsIsNotLimited) {
  QueueSpec cpu;
  cpu.name = "b";
  cpu.parent = "team";
  cpu.quotas = {{"cpu", 4, {}, {}}};
  const QuotaTree tree({Queue("a", "team", 2), cpu}, {"memory"});
  const int gpu = 1;  // by name: cpu, gpu, memory
  EXPECT_EQ(tree.resource_name(gpu), "gpu");
  EXPECT_TRUE(tree.is_limited(tree.FindQueue("a"), gpu));
  EXPECT_FALSE(tree.is_limited(tree.FindQueue("b"), gpu));
  QuotaUse use(tree);
  EXPECT_TRUE(use.Fits(tree.FindQueue("b"), {{gpu, 1000}}));
  use.Add(tree.FindQueue("b"), {{gpu, 1000}});
  EXPECT_EQ(use.used(tree.FindQueue("b"), gpu), 1000);
  EXPECT_EQ(use.Available(tree.FindQueue("a"), gpu), 2);
}

TEST(QuotaTree, ParentsInACircleAreBroken) {
  const QuotaTree tree(
      {Queue("a", "b", 1), Queue("b", "a", 1), Queue("c", "b", 1), Queue("d", "", 1)});
  for (const char* name : {"a", "b", "c"}) {
    EXPECT_TRUE(tree.is_broken(tree.FindQueue(name))) << name;
  }
  EXPECT_FALSE(tree.is_broken(tree.FindQueue("d")));
}

// A queue never uses more than it may, quota that others keep is never taken, and use that comes
// and goes leaves no trace.
TEST(QuotaTree, RandomForests) {
  for (int seed = 0; seed < 300; ++seed) {
    std::mt19937 random(seed);
    auto pick = [&](int n) { return static_cast<int64_t>(random() % n); };
    std::vector<QueueSpec> specs;
    const int cohorts = 1 + pick(3);
    for (int i = 0; i < cohorts; ++i) {
      specs.push_back(Queue(absl::StrCat("c", i), i == 0 ? "" : absl::StrCat("c", pick(i)), pick(5),
                            pick(2) ? pick(20) : -1, pick(2) ? pick(20) : -1));
    }
    std::vector<int> leaves;
    for (int i = 0; i < 5; ++i) {
      specs.push_back(Queue(absl::StrCat("q", i), absl::StrCat("c", pick(cohorts)), pick(12),
                            pick(2) ? pick(12) : -1, pick(2) ? pick(12) : -1));
    }
    const QuotaTree tree(specs);
    for (int i = 0; i < 5; ++i) leaves.push_back(tree.FindQueue(absl::StrCat("q", i)));
    QuotaUse use(tree);
    std::vector<std::pair<int, int64_t>> running;
    for (int step = 0; step < 100; ++step) {
      const int q = leaves[pick(5)];
      const int64_t amount = 1 + pick(6);
      if (pick(3) > 0 && use.Fits(q, Gpus(amount))) {
        const int64_t before = use.Available(q, 0);
        use.Add(q, Gpus(amount));
        running.push_back({q, amount});
        EXPECT_EQ(use.Available(q, 0), before - amount);
      } else if (!running.empty()) {
        std::swap(running[pick(running.size())], running.back());
        use.Remove(running.back().first, Gpus(running.back().second));
        running.pop_back();
      }
      int64_t total = 0;
      for (int leaf : leaves) {
        total += use.used(leaf, 0);
        EXPECT_LE(use.used(leaf, 0), tree.Potential(leaf, 0));
        EXPECT_GE(use.Available(leaf, 0), 0);
      }
      EXPECT_EQ(use.used(tree.FindQueue("c0"), 0), total);
      EXPECT_LE(total, tree.subtree_quota(tree.FindQueue("c0"), 0) + 60);
    }
    for (const auto& [q, amount] : running) use.Remove(q, Gpus(amount));
    const QuotaUse fresh(tree);
    for (int q = 0; q < tree.queues(); ++q) {
      EXPECT_EQ(use.Available(q, 0), fresh.Available(q, 0));
      EXPECT_EQ(use.used(q, 0), 0);
    }
  }
}

}  // namespace
}  // namespace muster::control
