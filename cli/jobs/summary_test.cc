#include "cli/jobs/summary.h"

#include <cmath>

#include "absl/time/time.h"
#include "base/testing/memory_files.h"
#include "cli/show/job_description.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace muster::cli {
namespace {

using ::testing::HasSubstr;

TEST(SummaryTable, ShowsLossesEntropyAndWhereTheTimeWent) {
  MemoryFiles files;
  auto history = History::Open(files, "steps.jsonl");
  ASSERT_TRUE(history.ok());
  for (int i = 1; i <= 4; ++i) {
    v1alpha1::StepReport step;
    step.mutable_version()->set_step(i);
    step.set_loss(4.0 - 0.5 * i);
    step.set_tokens(1000);
    step.mutable_times()->set_compute(2);
    if (i == 4) {
      step.set_validation_loss(2.25);
      step.set_unigram_entropy(3.0);
    }
    ASSERT_TRUE((*history)->Add(step).ok());
  }
  RunFacts facts;
  facts.job = "gpt";
  facts.state = "Succeeded";
  facts.steps = 4;
  facts.wall_seconds = 10;
  facts.checkpoint = "/c/step-000000004";
  const std::string table = SummaryTable(facts, **history);
  EXPECT_THAT(table, HasSubstr("gpt: Succeeded"));
  EXPECT_THAT(table, HasSubstr("4 of 4"));
  EXPECT_THAT(table, HasSubstr("2.0000 final, 2.0000 best"));
  EXPECT_THAT(table, HasSubstr("3.0000 (of the validation text), the model is 0.7500 below"));
  EXPECT_THAT(table, HasSubstr("tokens per second  500"));
  EXPECT_THAT(table, HasSubstr("wall time          10s\n"));
  EXPECT_THAT(table, HasSubstr("/c/step-000000004"));
}

// The summary summed the times of the steps that were reported, and no recovery is part of a step.
TEST(SummaryTable, ItsClassesOfTimeAreTheLedgers) {
  MemoryFiles files;
  RunFacts facts;
  facts.ledger.set_productive(15);
  facts.ledger.set_recovering(5);
  EXPECT_THAT(SummaryTable(facts, **History::Load(files, "none")),
              HasSubstr("time of the ranks:\n" + LedgerTable(facts.ledger)));
  EXPECT_THAT(LedgerTable(facts.ledger), HasSubstr("recovering   5.0s   25.0 %\n"));
}

TEST(SummaryTable, TheFinalLossIsTheMeanOfTheLastHundredthOfStepsThatHaveOne) {
  MemoryFiles files;
  auto history = History::Open(files, "steps.jsonl");
  ASSERT_TRUE(history.ok());
  for (int i = 1; i <= 300; ++i) {
    v1alpha1::StepReport step;
    step.mutable_version()->set_step(i);
    step.set_loss(i == 299 ? std::nan("") : i == 300 ? 9.0 : 3.0);
    ASSERT_TRUE((*history)->Add(step).ok());
  }
  EXPECT_THAT(SummaryTable({}, **history),
              HasSubstr("5.0000 final (mean of 3 steps), 3.0000 best"));
}

TEST(SummaryTable, ARunWithoutStepsHasNoLosses) {
  MemoryFiles files;
  RunFacts facts;
  facts.job = "gpt";
  facts.state = "Failed";
  const std::string table = SummaryTable(facts, **History::Load(files, "none"));
  EXPECT_THAT(table, HasSubstr("gpt: Failed\n"));
  EXPECT_THAT(table, ::testing::Not(HasSubstr("loss")));
}

// Regression: the wall time was a difference of wall clock readings, negative after a step back.
TEST(JobSeconds, AClockThatIsSteppedWhileTheJobRunsChangesNothing) {
  const absl::Time opened = absl::FromUnixSeconds(1'000'000);
  const absl::Time start = opened + absl::Seconds(1);
  const absl::Duration watched = absl::Seconds(60);
  for (const absl::Duration step : {absl::ZeroDuration(), -absl::Hours(24), absl::Hours(24)}) {
    EXPECT_EQ(JobSeconds(start, opened + watched + step, opened, watched), 60) << step;
  }
  EXPECT_EQ(JobSeconds(start, absl::InfiniteFuture(), opened, watched), 60);
}

TEST(JobSeconds, TimeBeforeThisProcessCountsAsRecorded) {
  const absl::Time opened = absl::FromUnixSeconds(1'000'000);
  EXPECT_EQ(
      JobSeconds(opened - absl::Seconds(30), opened + absl::Seconds(10), opened, absl::Seconds(10)),
      40);
  EXPECT_EQ(JobSeconds(opened - absl::Seconds(30), opened - absl::Seconds(10), opened,
                       absl::ZeroDuration()),
            20)
      << "it was over before";
}

}  // namespace
}  // namespace muster::cli
