#include "trainer/engine/store/copy_choice.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <random>

#include "absl/time/time.h"
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

using Beside = CopyPace::Beside;

constexpr absl::Duration kStep = absl::Milliseconds(10);

void Steps(CopyPace& pace, int count, absl::Duration length = kStep) {
  for (int i = 0; i < count; ++i) pace.StepDone(length, Beside::kNothing);
}

// A copy that delays training by `blocked`, and the one step beside it by `slower`.
void Copy(CopyPace& pace, absl::Duration blocked, absl::Duration slower) {
  pace.CopyBegun(blocked);
  pace.StepDone(kStep + slower, Beside::kCopy);
  Steps(pace, 1);
}

TEST(CopyPaceTest, StepsAreMeasuredBeforeTheFirstCopy) {
  CopyPace pace;
  Steps(pace, CopyPace::kMeasuredFirst - 1);
  EXPECT_FALSE(pace.IsDue());
  Steps(pace, 1);
  EXPECT_TRUE(pace.IsDue()) << "what it costs is not known";
}

TEST(CopyPaceTest, ACopyOfHalfAStepIsMadeEveryFiftySteps) {
  CopyPace pace;
  Steps(pace, CopyPace::kMeasuredFirst);
  Copy(pace, absl::Milliseconds(2), absl::Milliseconds(3));
  EXPECT_EQ(pace.Interval(), 50);
  Steps(pace, 46);
  EXPECT_FALSE(pace.IsDue()) << "48 steps since the copy";
  Steps(pace, 1);
  EXPECT_TRUE(pace.IsDue()) << "after the fiftieth";
}

TEST(CopyPaceTest, CopiesThatDelayNothingAreMadeAfterEachStep) {
  CopyPace pace;
  Steps(pace, CopyPace::kMeasuredFirst);
  Copy(pace, absl::ZeroDuration(), absl::Milliseconds(4));
  Copy(pace, absl::ZeroDuration(), -absl::Milliseconds(4));
  EXPECT_EQ(pace.Interval(), 1) << "noise of both signs";
  EXPECT_TRUE(pace.IsDue());
}

TEST(CopyPaceTest, ACopyBesideASaveIsNotMeasured) {
  CopyPace pace;
  Steps(pace, CopyPace::kMeasuredFirst);
  pace.CopyBegun(absl::ZeroDuration());
  pace.StepDone(10 * kStep, Beside::kSave);
  Steps(pace, 1);
  EXPECT_EQ(pace.Interval(), 1);
}

TEST(CopyPaceTest, ANewRoundMeasuresItsStepsAndRemembersWhatCopiesCost) {
  CopyPace pace;
  Steps(pace, CopyPace::kMeasuredFirst);
  Copy(pace, absl::Milliseconds(1), absl::ZeroDuration());
  EXPECT_EQ(pace.Interval(), 10);
  pace.BeginRound();
  EXPECT_FALSE(pace.IsDue());
  Steps(pace, CopyPace::kMeasuredFirst, kStep / 2);
  EXPECT_EQ(pace.Interval(), 20) << "steps of the new round take half the time";
}

TEST(CopyPaceTest, ReplicasTakeTheNetworkForAQuarterOfTheTime) {
  CopyPace pace;
  Steps(pace, CopyPace::kMeasuredFirst);
  Copy(pace, absl::Microseconds(500), absl::ZeroDuration());
  EXPECT_EQ(pace.Interval(), 5);
  pace.SetSending(5 * kStep);
  EXPECT_EQ(pace.Interval(), 20);
  pace.SetSending(kStep / 10);
  EXPECT_EQ(pace.Interval(), 5) << "what it costs on the machine is more";
  pace.SetSending(absl::ZeroDuration());
  EXPECT_EQ(pace.Interval(), 5);
}

TEST(CopyPaceTest, TheFirstReplicaCountsBeforeTheDelayOfItsCopyIsKnown) {
  CopyPace pace;
  Steps(pace, CopyPace::kMeasuredFirst);
  pace.CopyBegun(absl::ZeroDuration());
  pace.SetSending(100 * kStep);
  EXPECT_EQ(pace.Interval(), 400);
  EXPECT_FALSE(pace.IsDue());
}

TEST(CopyPaceTest, TheLastCopiesCount) {
  CopyPace pace;
  Steps(pace, CopyPace::kMeasuredFirst);
  Copy(pace, absl::Seconds(10), absl::ZeroDuration());
  EXPECT_GT(pace.Interval(), 1000);
  for (int i = 0; i < 8; ++i) Copy(pace, absl::Milliseconds(1), absl::ZeroDuration());
  EXPECT_EQ(pace.Interval(), 10);
}

// Steps and copies of random lengths: over a long run copies take a hundredth of the time.
TEST(CopyPaceTest, CopiesTakeAHundredthOfTheTimeWhateverTheyCost) {
  for (unsigned seed = 1; seed <= 50; ++seed) {
    std::mt19937 random(seed);
    const auto draw = [&](double low, double high) {
      return std::uniform_real_distribution(low, high)(random);
    };
    const absl::Duration step = absl::Milliseconds(draw(1, 1000));
    const double noise = draw(0.0, 0.05);
    const absl::Duration cost = step * draw(0.01, 3.0);
    const int beside = std::uniform_int_distribution(1, 4)(random);
    CopyPace pace;
    absl::Duration total, copies;
    int copying = 0;
    for (int i = 0; i < 30'000; ++i) {
      const bool due = copying == 0 && pace.IsDue();
      const absl::Duration slower = copying > 0 ? cost / beside : absl::ZeroDuration();
      const absl::Duration length = step * draw(1.0 - noise, 1.0 + noise) + slower;
      pace.StepDone(length, copying > 0 ? Beside::kCopy : Beside::kNothing);
      total += length;
      copies += slower;
      if (copying > 0) --copying;
      if (!due) continue;
      pace.CopyBegun(absl::ZeroDuration());
      copying = beside;
    }
    const double share = absl::FDivDuration(copies, total);
    EXPECT_LT(share, 0.0125) << "seed " << seed;
    EXPECT_GT(share, 0.0075) << "seed " << seed << ": they are made more rarely than they may";
  }
}

}  // namespace
}  // namespace muster::trainer
