#include "operator/reconcile/progress_budget.h"

#include "gtest/gtest.h"

namespace muster::control {
namespace {

constexpr absl::Time kStart = absl::UnixEpoch();

TEST(ProgressBudgetTest, ABurstThenInLine) {
  ProgressBudget budget;
  for (int i = 0; i < ProgressBudget::kBurst; ++i) EXPECT_EQ(budget.Reserve(kStart), kStart);
  EXPECT_EQ(budget.Reserve(kStart), kStart + absl::Milliseconds(50));
  EXPECT_EQ(budget.Reserve(kStart), kStart + absl::Milliseconds(100));
}

TEST(ProgressBudgetTest, CreditIsBounded) {
  ProgressBudget budget;
  budget.Reserve(kStart);
  const absl::Time later = kStart + absl::Hours(1);
  for (int i = 0; i < ProgressBudget::kBurst; ++i) EXPECT_EQ(budget.Reserve(later), later);
  EXPECT_GT(budget.Reserve(later), later);
}

TEST(ProgressBudgetTest, NeverMoreThanTwentyPerSecondAfterTheBurst) {
  ProgressBudget budget;
  int granted = 0;
  for (int i = 0; i < 1000; ++i) {
    if (budget.Reserve(kStart) < kStart + absl::Seconds(10)) ++granted;
  }
  EXPECT_EQ(granted, ProgressBudget::kBurst + 10 * 20 - 1);
}

}  // namespace
}  // namespace muster::control
