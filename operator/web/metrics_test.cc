#include "operator/web/metrics.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace muster::control {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(Metrics, CountersAndLiveFiguresAreInTheText) {
  Metrics metrics;
  metrics.CountReconcile(ReconcileResult::kSuccess, absl::Milliseconds(2));
  metrics.CountReconcile(ReconcileResult::kError, absl::Milliseconds(2));
  metrics.CountRound("RankFailed");
  LiveFigures figures;
  figures.agents_attached = 2;
  figures.jobs = {{"default", "gpt", "Training", 41, 2.5, 1000, 3, 2}};
  const std::string text = metrics.Text(figures);
  EXPECT_THAT(text, HasSubstr("muster_reconcile_total{result=\"success\"} 1"));
  EXPECT_THAT(text, HasSubstr("muster_reconcile_total{result=\"error\"} 1"));
  EXPECT_THAT(text, HasSubstr("muster_reconcile_seconds_count 2"));
  EXPECT_THAT(text, HasSubstr("muster_rounds_total{reason=\"RankFailed\"} 1"));
  EXPECT_THAT(text, HasSubstr("muster_agents_attached 2"));
  EXPECT_THAT(text, HasSubstr("muster_jobs{state=\"Training\"} 1"));
  EXPECT_THAT(text, HasSubstr("muster_job_step{job=\"gpt\",namespace=\"default\"} 41"));
}

TEST(Metrics, AJobThatIsGoneLeavesNoSeries) {
  Metrics metrics;
  LiveFigures figures;
  figures.jobs = {{"default", "gpt", "Training", 41, 2.5, 1000, 3, 2}};
  metrics.Text(figures);
  EXPECT_THAT(metrics.Text({}), Not(HasSubstr("gpt")));
}

}  // namespace
}  // namespace muster::control
