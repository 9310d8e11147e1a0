#ifndef MUSTER_OPERATOR_METRICS_METRICS_H_
#define MUSTER_OPERATOR_METRICS_METRICS_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/time/time.h"
#include "operator/kube/request_observer.h"
#include "operator/kube/wrap/observed_api.h"
#include "operator/metrics/series.h"
#include "operator/notify/notification_observer.h"
#include "operator/reconcile/controller_observer.h"
#include "operator/reconcile/work_queue.h"
#include "prometheus/metric_family.h"

namespace muster::control {

// Counts events as they happen, through the observer interfaces of other packages. All other values
// on /metrics are read at scrape time (live_metrics.h). Thread-safe.
class Metrics final : public WorkQueueObserver,
                      public ControllerObserver,
                      public kube::RequestObserver,
                      public kube::WatchObserver,
                      public NotificationObserver {
 public:
  Metrics();

  // Counts a reconcile. `result` is success, conflict, error or terminal.
  void Observe(const std::string& result, absl::Duration took) {
    reconciles_.Increment({result});
    reconcile_duration_.Observe(absl::ToDoubleSeconds(took));
  }
  void LeaderChanged() { leader_transitions_.Increment(); }

  // Work queue
  void Taken(absl::Duration waited) override {
    queue_duration_.Observe(absl::ToDoubleSeconds(waited));
  }
  void Finished(absl::Duration worked) override {
    work_duration_.Observe(absl::ToDoubleSeconds(worked));
  }
  // Controller
  void RoundOpened(std::string_view reason) override {
    rounds_opened_.Increment({std::string(reason)});
  }
  void RoundBroke(std::string_view kind) override { recoveries_.Increment({std::string(kind)}); }
  void Recovered(std::string_view kind, absl::Duration took) override {
    recovery_duration_.Observe(absl::ToDoubleSeconds(took), {std::string(kind)});
  }
  void FailureEvaluated(std::string_view kind, std::string_view action) override {
    failures_.Increment({std::string(kind), std::string(action)});
  }
  void StatusWritten(bool progress_only) override {
    status_writes_.Increment({progress_only ? "progress" : "decision"});
  }
  // API client
  void Finished(std::string_view verb, std::string_view resource, int code,
                absl::Duration latency) override {
    requests_.Increment({std::string(verb), std::string(resource), std::to_string(code)});
    request_duration_.Observe(absl::ToDoubleSeconds(latency), {std::string(verb)});
  }
  void Throttled(absl::Duration wait) override {
    throttle_duration_.Observe(absl::ToDoubleSeconds(wait));
  }
  // Watches
  void Listed(std::string_view resource) override { lists_.Increment({std::string(resource)}); }
  void WatchOpened(std::string_view resource) override {
    watches_opened_.Increment({std::string(resource)});
  }
  void WatchEnded(std::string_view resource, std::string_view reason) override {
    watches_ended_.Increment({std::string(resource), std::string(reason)});
  }

  // Notifications
  void ReceiverAdded(const std::string& receiver) override {
    for (const char* result : {"success", "error"}) notifications_.With({receiver, result});
  }
  void Notified(const std::string& receiver, bool taken) override {
    notifications_.Increment({receiver, taken ? "success" : "error"});
  }

  std::vector<prometheus::MetricFamily> Collect() const { return all_.Collect(); }

 private:
  SeriesList all_;  // those below, in their order
  CounterSeries reconciles_{MetricId::kReconciles, all_};
  HistogramSeries reconcile_duration_{MetricId::kReconcileDuration, all_};
  HistogramSeries queue_duration_{MetricId::kQueueDuration, all_};
  HistogramSeries work_duration_{MetricId::kQueueWorkDuration, all_};
  CounterSeries requests_{MetricId::kApiRequests, all_};
  HistogramSeries request_duration_{MetricId::kApiRequestDuration, all_};
  HistogramSeries throttle_duration_{MetricId::kApiThrottleDuration, all_};
  CounterSeries lists_{MetricId::kWatchLists, all_};
  CounterSeries watches_opened_{MetricId::kWatchesOpened, all_};
  CounterSeries watches_ended_{MetricId::kWatchesEnded, all_};
  CounterSeries leader_transitions_{MetricId::kLeaderTransitions, all_};
  CounterSeries rounds_opened_{MetricId::kRoundsOpened, all_};
  CounterSeries recoveries_{MetricId::kRecoveries, all_};
  HistogramSeries recovery_duration_{MetricId::kRecoveryDuration, all_};
  CounterSeries failures_{MetricId::kFailures, all_};
  CounterSeries status_writes_{MetricId::kStatusWrites, all_};
  CounterSeries notifications_{MetricId::kAlertNotifications, all_};
};

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_METRICS_METRICS_H_
