#include "operator/core/failure/backoff.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "operator/core/testing/command_world.h"

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

// The rounds broke 88 times a second, each with writes of the status.
TEST(BackoffTest, ACrashLoopThatTheJobIgnoresBreaksNoMoreThanARoundASecond) {
  CommandWorld world(1);
  v1alpha1::FailurePolicySpec& policy = *world.view.spec.mutable_failure_policy();
  policy.set_max_identical_failures(0);
  policy.set_initial_backoff("1ms");
  policy.set_max_backoff("1ms");
  v1alpha1::FailureRule& rule = *policy.add_rules();
  rule.set_action("Ignore");
  rule.mutable_exit_codes()->add_values(1);
  world.MakeActive();
  const absl::Time end = world.view.now + absl::Seconds(20);
  while (world.view.now < end) {
    if (world.memory.phase == RoundPhase::kActive) {
      world.Agent(0).exits.clear();
      world.FailRank(0, 1);
    }
    const Plan plan = world.Decide();
    if (world.memory.phase == RoundPhase::kPreparing) {
      world.JoinAll();
    } else if (world.memory.phase != RoundPhase::kActive) {
      world.Advance(plan.requeue_after.value_or(absl::Seconds(1)));
    }
  }
  EXPECT_GT(world.memory.id.round, 10) << "it is tried again";
  EXPECT_LE(world.memory.id.round, 22);
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
