#include "operator/alerts/stalled.h"

#include "gtest/gtest.h"

namespace muster::control {
namespace {

using Change = Finding::Change;

const absl::Time kStart = absl::FromUnixSeconds(1000);
constexpr absl::Duration kHold = absl::Minutes(10);

TEST(StalledTest, FiresWhenTheNewestStepIsOldEnough) {
  StalledView view{kStart + absl::Minutes(12), kStart, kStart + absl::Minutes(3), false};
  const StalledFinding early = CheckStalled(kHold, view, false);
  EXPECT_EQ(early.finding.change, Change::kNone);
  EXPECT_EQ(early.due, kStart + absl::Minutes(13));
  view.now = early.due;
  const StalledFinding found = CheckStalled(kHold, view, false);
  EXPECT_EQ(found.finding.change, Change::kFires);
  EXPECT_EQ(found.finding.sentence, "no step was reported for 10m");
}

TEST(StalledTest, AJobThatNeverStepsCountsFromTheTimeAtWhichItBeganToRun) {
  const StalledView view{kStart + kHold, kStart, kStart - absl::Hours(3), false};
  const StalledFinding found = CheckStalled(kHold, view, false);
  EXPECT_EQ(found.finding.change, Change::kFires);
  EXPECT_EQ(found.finding.sentence, "no step was reported for 10m");
}

TEST(StalledTest, AJobThatDoesNotRunIsNotStalled) {
  StalledView view{kStart + absl::Hours(5)};
  view.stepped_at = kStart;
  const StalledFinding found = CheckStalled(kHold, view, false);
  EXPECT_EQ(found.finding.change, Change::kNone);
  EXPECT_EQ(found.due, absl::InfiniteFuture());
}

TEST(StalledTest, CeasesWithTheNextStepOnly) {
  StalledView view{kStart + absl::Hours(5)};
  EXPECT_EQ(CheckStalled(kHold, view, true).finding.change, Change::kNone) << "it broke";
  view.running_since = view.now;
  EXPECT_EQ(CheckStalled(kHold, view, true).finding.change, Change::kNone) << "it runs again";
  view.has_new_step = true;
  EXPECT_EQ(CheckStalled(kHold, view, true).finding.change, Change::kResolves);
}

}  // namespace
}  // namespace muster::control
