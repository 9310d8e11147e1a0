#include "operator/app/throttle_observer.h"

#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "operator/metrics/metrics.h"
#include "prometheus/metric_family.h"

namespace muster::control {
namespace {

TEST(ThrottleObserverTest, WaitsReachTheMetricsAndRequestsAreNotCountedTwice) {
  ThrottleObserver relay;
  relay.Throttled(absl::Seconds(9));  // lost: no metrics are connected yet
  Metrics metrics;
  relay.ConnectTo(&metrics);
  relay.Throttled(absl::Milliseconds(1500));
  relay.Finished("get", "pods", 200, absl::Seconds(1));
  relay.ConnectTo(nullptr);
  relay.Throttled(absl::Seconds(9));
  uint64_t requests = 0;
  for (const prometheus::MetricFamily& family : metrics.Collect()) {
    if (family.name.rfind("muster_api_requests", 0) == 0) requests += family.metric.size();
    if (family.name != "muster_api_throttle_duration_seconds") continue;
    ASSERT_EQ(family.metric.size(), 1u);
    EXPECT_EQ(family.metric[0].histogram.sample_count, 1u);
    EXPECT_DOUBLE_EQ(family.metric[0].histogram.sample_sum, 1.5);
  }
  EXPECT_EQ(requests, 0u);
}

}  // namespace
}  // namespace muster::control
