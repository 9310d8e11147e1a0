#ifndef MUSTER_OPERATOR_METRICS_METRICS_H_
#define MUSTER_OPERATOR_METRICS_METRICS_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/time/time.h"
#include "operator/kube/request_observer.h"
#include "operator/kube/wrap/observed_api.h"
#include "operator/metrics/series.h"
#include "operator/reconcile/controller_observer.h"
#include "operator/reconcile/work_queue.h"
#include "prometheus/metric_family.h"

namespace muster::control {

// Counts events as they happen, through the observer interfaces of other packages. All other values
// on /metrics are read at scrape time (live_metrics.h). Thread-safe.
class Metrics final : public WorkQueueObserver,
                      public ControllerObserver,
                      public kube::RequestObserver,
                      public kube::WatchObserver {
 public:
  Metrics();

  // Counts a reconcile. `result` is success, conflict, error or terminal.
  void Observe(const std::string& result, absl::Duration took);
  void LeaderChanged() { leader_transitions_.Increment(); }

  // Work queue
  void Taken(absl::Duration waited) override;
  void Finished(absl::Duration worked) override;
  // Controller
  void RoundOpened(std::string_view reason) override;
  void RoundBroke(std::string_view kind) override;
  void Recovered(std::string_view kind, absl::Duration took) override;
  void FailureJudged(std::string_view kind, std::string_view action) override;
  void StatusWritten(bool progress_only) override;
  // API client
  void Finished(std::string_view verb, std::string_view resource, int code,
                absl::Duration latency) override;
  void Throttled(absl::Duration wait) override;
  // Watches
  void Listed(std::string_view resource) override;
  void WatchOpened(std::string_view resource) override;
  void WatchEnded(std::string_view resource, std::string_view reason) override;

  std::vector<prometheus::MetricFamily> Collect() const;

 private:
  CounterSeries reconciles_{MetricId::kReconciles};
  HistogramSeries reconcile_duration_{MetricId::kReconcileDuration};
  CounterSeries leader_transitions_{MetricId::kLeaderTransitions};
  HistogramSeries queue_duration_{MetricId::kQueueDuration};
  HistogramSeries work_duration_{MetricId::kQueueWorkDuration};
  CounterSeries rounds_opened_{MetricId::kRoundsOpened};
  CounterSeries recoveries_{MetricId::kRecoveries};
  HistogramSeries recovery_duration_{MetricId::kRecoveryDuration};
  CounterSeries failures_{MetricId::kFailures};
  CounterSeries status_writes_{MetricId::kStatusWrites};
  CounterSeries requests_{MetricId::kApiRequests};
  HistogramSeries request_duration_{MetricId::kApiRequestDuration};
  HistogramSeries throttle_duration_{MetricId::kApiThrottleDuration};
  CounterSeries lists_{MetricId::kWatchLists};
  CounterSeries watches_opened_{MetricId::kWatchesOpened};
  CounterSeries watches_ended_{MetricId::kWatchesEnded};
};

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_METRICS_METRICS_H_
