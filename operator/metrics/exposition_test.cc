#include "operator/metrics/exposition.h"

#include <limits>
#include <string>

#include "gtest/gtest.h"

namespace muster::control {
namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;

MetricFamily Counter() {
  MetricFamily family{"muster_x_total", "Say \"hi\"\\\nthere.", MetricType::Counter, {}};
  ClientMetric metric;
  metric.label = {{"a", "q\"b\\s\nn"}, {"b", "é"}};
  metric.counter.value = 12345678901.0;
  family.metric = {metric};
  return family;
}

MetricFamily Histogram() {
  MetricFamily family{"muster_y_seconds", "Time.", MetricType::Histogram, {}};
  ClientMetric metric;
  metric.histogram.bucket = {{1, 0.5}, {2, 1}, {3, std::numeric_limits<double>::infinity()}};
  metric.histogram.sample_count = 3;
  metric.histogram.sample_sum = 7.25;
  family.metric = {metric};
  return family;
}

TEST(ExpositionTest, OpenMetrics) {
  EXPECT_EQ(ToOpenMetrics({Counter(), Histogram()}),
            "# TYPE muster_x counter\n"
            "# HELP muster_x Say \\\"hi\\\"\\\\\\nthere.\n"
            "muster_x_total{a=\"q\\\"b\\\\s\\nn\",b=\"é\"} 12345678901\n"
            "# TYPE muster_y_seconds histogram\n"
            "# UNIT muster_y_seconds seconds\n"
            "# HELP muster_y_seconds Time.\n"
            "muster_y_seconds_bucket{le=\"0.5\"} 1\n"
            "muster_y_seconds_bucket{le=\"1.0\"} 2\n"
            "muster_y_seconds_bucket{le=\"+Inf\"} 3\n"
            "muster_y_seconds_sum 7.25\n"
            "muster_y_seconds_count 3\n"
            "# EOF\n");
}

TEST(ExpositionTest, PrometheusText) {
  EXPECT_EQ(ToText({Counter(), Histogram()}),
            "# TYPE muster_x_total counter\n"
            "# HELP muster_x_total Say \"hi\"\\\\\\nthere.\n"
            "muster_x_total{a=\"q\\\"b\\\\s\\nn\",b=\"é\"} 12345678901\n"
            "# TYPE muster_y_seconds histogram\n"
            "# HELP muster_y_seconds Time.\n"
            "muster_y_seconds_bucket{le=\"0.5\"} 1\n"
            "muster_y_seconds_bucket{le=\"1\"} 2\n"
            "muster_y_seconds_bucket{le=\"+Inf\"} 3\n"
            "muster_y_seconds_sum 7.25\n"
            "muster_y_seconds_count 3\n");
}

TEST(ExpositionTest, NoFamiliesAreStillADocument) {
  EXPECT_EQ(ToOpenMetrics({}), "# EOF\n");
  EXPECT_EQ(ToText({}), "");
}

TEST(ExpositionTest, NumbersThatAreNotFiniteAreWritten) {
  MetricFamily family{"muster_job_loss", "Loss.", MetricType::Gauge, {}};
  for (const double value : {std::numeric_limits<double>::quiet_NaN(),
                             -std::numeric_limits<double>::infinity(), 1e-300}) {
    ClientMetric metric;
    metric.gauge.value = value;
    family.metric.push_back(metric);
  }
  EXPECT_EQ(ToText({family}),
            "# TYPE muster_job_loss gauge\n# HELP muster_job_loss Loss.\n"
            "muster_job_loss NaN\nmuster_job_loss -Inf\nmuster_job_loss 1e-300\n");
}

TEST(ExpositionTest, AcceptHeaders) {
  EXPECT_FALSE(WantsOpenMetrics(""));
  EXPECT_FALSE(WantsOpenMetrics("*/*"));
  EXPECT_FALSE(WantsOpenMetrics("text/plain"));
  EXPECT_TRUE(WantsOpenMetrics("application/openmetrics-text"));
  // Prometheus sends this header.
  EXPECT_TRUE(
      WantsOpenMetrics("application/openmetrics-text;version=1.0.0,application/"
                       "openmetrics-text;version=0.0.1;q=0.75,"
                       "text/plain;version=0.0.4;q=0.5,*/*;q=0.1"));
  EXPECT_FALSE(WantsOpenMetrics("application/openmetrics-text;q=0.2, text/plain;q=0.9"));
  EXPECT_FALSE(WantsOpenMetrics("application/openmetrics-text; q=0"));
  EXPECT_FALSE(WantsOpenMetrics("application/openmetrics-text; q=x"));
}

}  // namespace
}  // namespace muster::control
