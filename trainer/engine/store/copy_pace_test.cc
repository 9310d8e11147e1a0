#include "trainer/engine/store/copy_pace.h"

#include <random>

#include "gtest/gtest.h"

namespace muster::trainer {
namespace {

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
