#include "operator/metrics/series.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace muster::control {
namespace {

TEST(SeriesTest, SeriesBeyondTheBoundAreCountedUnderOther) {
  CounterSeries series(MetricId::kWatchesOpened);
  for (size_t i = 0; i < 3 * CounterSeries::kMaxSeries; ++i) {
    series.Increment({absl::StrCat("resource-", i)});
  }
  const prometheus::MetricFamily family = series.Collect();
  EXPECT_EQ(family.metric.size(), CounterSeries::kMaxSeries + 1);
  double total = 0;
  double other = 0;
  for (const auto& metric : family.metric) {
    total += metric.counter.value;
    if (metric.label.front().value == "other") other = metric.counter.value;
  }
  EXPECT_EQ(total, 3.0 * CounterSeries::kMaxSeries) << "nothing is lost";
  EXPECT_EQ(other, 2.0 * CounterSeries::kMaxSeries);
}

TEST(SeriesTest, BucketsAreCumulativeAndTheirBoundsInclusive) {
  HistogramSeries series(MetricId::kRecoveryDuration);
  for (const double value : {0.1, 0.100001, 1e9}) series.Observe(value, {"RankFailed"});
  const prometheus::MetricFamily family = series.Collect();
  const auto& histogram = family.metric.at(0).histogram;
  EXPECT_EQ(histogram.sample_count, 3u);
  EXPECT_EQ(histogram.bucket.at(0).upper_bound, 0.1);
  EXPECT_EQ(histogram.bucket.at(0).cumulative_count, 1u);
  EXPECT_EQ(histogram.bucket.at(1).cumulative_count, 2u);
  EXPECT_EQ(histogram.bucket.back().cumulative_count, 3u);
}

TEST(SeriesTest, AHistogramWithoutLabelsIsThereFromTheStart) {
  EXPECT_EQ(HistogramSeries(MetricId::kQueueDuration).Collect().metric.size(), 1u);
  EXPECT_EQ(HistogramSeries(MetricId::kRecoveryDuration).Collect().metric.size(), 0u);
}

TEST(SeriesListTest, FamiliesComeInTheOrderInWhichTheirSeriesWereMade) {
  SeriesList list;
  HistogramSeries waits(MetricId::kQueueDuration, list);
  CounterSeries failures(MetricId::kFailures, list);
  CounterSeries alone(MetricId::kStatusWrites);
  failures.Increment({"NodeLost", "Ignore"});
  const std::vector<prometheus::MetricFamily> families = list.Collect();
  ASSERT_EQ(families.size(), 2u) << "a series without a list is in none";
  EXPECT_EQ(families[0].name, SpecOf(MetricId::kQueueDuration).name);
  EXPECT_EQ(families[1].name, SpecOf(MetricId::kFailures).name);
  EXPECT_EQ(families[1].metric.size(), 1u);
}

}  // namespace
}  // namespace muster::control
