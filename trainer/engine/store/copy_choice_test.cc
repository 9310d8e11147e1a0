#include "trainer/engine/store/copy_choice.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <random>

#include "gtest/gtest.h"

namespace muster::trainer {
namespace {

using v1alpha1::ReplicaReport;
using v1alpha1::Version;

Version V(int64_t step, int64_t attempt = 1) {
  Version version;
  version.set_step(step);
  version.set_attempt(attempt);
  return version;
}

ReplicaReport Report(bool streams, std::optional<Version> kept) {
  ReplicaReport report;
  report.set_streams(streams);
  if (kept) *report.add_kept() = *kept;
  return report;
}

TEST(CopyChoiceTest, AFixedIntervalAsksWithEachMultipleAndNotTwiceForIt) {
  EXPECT_FALSE(AsksForCopy({.step = 9, .copied_step = 0, .every_steps = 10}));
  EXPECT_TRUE(AsksForCopy({.step = 10, .copied_step = 0, .every_steps = 10}));
  EXPECT_FALSE(AsksForCopy({.step = 11, .copied_step = 10, .every_steps = 10}));
  EXPECT_TRUE(AsksForCopy({.step = 1, .copied_step = 0, .every_steps = 1}));
}

TEST(CopyChoiceTest, ACopyThatIsLateIsMadeWithTheNextStep) {
  EXPECT_FALSE(
      AsksForCopy({.step = 20, .copied_step = 10, .every_steps = 10, .replica_is_awaited = true}));
  EXPECT_FALSE(AsksForCopy({.step = 21, .copied_step = 10, .every_steps = 10, .idle = false}));
  EXPECT_TRUE(AsksForCopy({.step = 22, .copied_step = 10, .every_steps = 10}));
  EXPECT_TRUE(AsksForCopy({.step = 30, .copied_step = 22, .every_steps = 10}));
}

TEST(CopyChoiceTest, WithoutAnIntervalThePaceDecides) {
  EXPECT_FALSE(AsksForCopy({.step = 1000, .pace_is_due = false}));
  EXPECT_TRUE(AsksForCopy({.step = 1000, .pace_is_due = true}));
  EXPECT_FALSE(AsksForCopy({.step = 1000, .pace_is_due = true, .replica_is_awaited = true}));
}

TEST(CopyChoiceTest, AReplicaIsAwaitedUntilTheNewestCopyIsWholeAtAPeerThatTakesCopies) {
  EXPECT_FALSE(IsReplicaAwaited(std::nullopt, V(10))) << "nobody has said that there is a peer";
  EXPECT_FALSE(IsReplicaAwaited(Report(false, std::nullopt), V(10))) << "there is none";
  EXPECT_FALSE(IsReplicaAwaited(Report(true, std::nullopt), std::nullopt)) << "there is no copy";
  EXPECT_TRUE(IsReplicaAwaited(Report(true, std::nullopt), V(10)));
  EXPECT_TRUE(IsReplicaAwaited(Report(true, V(5)), V(10)));
  EXPECT_TRUE(IsReplicaAwaited(Report(true, V(10, 1)), V(10, 2))) << "of a run that was given up";
  EXPECT_FALSE(IsReplicaAwaited(Report(true, V(10)), V(10)));
  ReplicaReport both = Report(true, V(10));
  *both.add_kept() = V(5);
  EXPECT_FALSE(IsReplicaAwaited(both, V(5))) << "the round went back to it";
}

// Simulates training with steps of one unit of time. A copy is complete `made` after its step, and
// whole at another worker `sent` later. Returns the most steps that the loss of a worker at any
// moment would take back, once the first copy is whole.
int64_t MostStepsRedone(int64_t every, double made, double sent, int64_t steps) {
  std::optional<Version> newest;  // complete, and its times
  std::optional<ReplicaReport> report = Report(true, std::nullopt);
  int64_t copied = 0, safe = 0, most = 0;
  double complete_at = INFINITY, whole_at = INFINITY;
  // Takes in all that has happened by the time `now`; until a replica is whole all steps count.
  const auto advance = [&](double now, int64_t committed) {
    if (complete_at <= now) newest = V(copied);
    if (whole_at <= now && safe < copied) {
      if (safe > 0) most = std::max(most, static_cast<int64_t>(whole_at) - safe);
      safe = copied;
      report = Report(true, V(copied));
    }
    if (safe > 0) most = std::max(most, committed - safe);
  };
  for (int64_t step = 1; step <= steps; ++step) {
    const auto now = static_cast<double>(step);
    advance(now, step);
    const bool idle = copied == 0 || complete_at <= now;
    if (!AsksForCopy({.step = step,
                      .copied_step = copied,
                      .every_steps = every,
                      .idle = idle,
                      .replica_is_awaited = IsReplicaAwaited(report, newest)})) {
      continue;
    }
    // The copy before this one is the newest that every worker's loss leaves.
    EXPECT_EQ(safe, copied);
    copied = step;
    complete_at = now + made;
    whole_at = complete_at + sent;
  }
  return most;
}

TEST(CopyChoiceTest, WithACopyOfEachStepALossTakesOneStepBack) {
  EXPECT_EQ(MostStepsRedone(1, 0.1, 0.5, 1000), 1);
}

TEST(CopyChoiceTest, ALossTakesBackOneIntervalAndTheStepsOfMakingAndSending) {
  std::mt19937 random(7);
  for (int run = 0; run < 200; ++run) {
    const int64_t every = std::uniform_int_distribution<int64_t>(1, 50)(random);
    const double made = std::uniform_real_distribution(0.0, 0.3)(random) * every;
    const double sent = std::uniform_real_distribution(0.0, 0.6)(random) * every;
    EXPECT_EQ(MostStepsRedone(every, made, sent, 2000),
              every + static_cast<int64_t>(std::floor(made + sent)))
        << every << " " << made << " " << sent;
  }
}

// Such a replica used to be of no use, and the job went back to its checkpoint.
TEST(CopyChoiceTest, ANetworkSlowerThanTheIntervalMakesCopiesRarerAndNoneUseless) {
  for (const double sent : {1.5, 7.3, 40.9}) {
    const auto took = static_cast<int64_t>(std::ceil(sent));
    EXPECT_LE(MostStepsRedone(1, 0.0, sent, 2000), 2 * took) << sent;
    EXPECT_GE(MostStepsRedone(1, 0.0, sent, 2000), took) << sent;
  }
}

}  // namespace
}  // namespace muster::trainer
