#include "operator/metrics/metrics.h"

namespace muster::control {

Metrics::Metrics() {
  for (const char* result : {"success", "conflict", "error", "terminal"}) {
    reconciles_.With({result});
  }
  for (const char* kind : {"decision", "progress"}) status_writes_.With({kind});
  leader_transitions_.With({});
}

void Metrics::Observe(const std::string& result, absl::Duration took) {
  reconciles_.Increment({result});
  reconcile_duration_.Observe(absl::ToDoubleSeconds(took));
}

void Metrics::Taken(absl::Duration waited) {
  queue_duration_.Observe(absl::ToDoubleSeconds(waited));
}
void Metrics::Finished(absl::Duration worked) {
  work_duration_.Observe(absl::ToDoubleSeconds(worked));
}

void Metrics::RoundOpened(std::string_view reason) {
  rounds_opened_.Increment({std::string(reason)});
}
void Metrics::RoundBroke(std::string_view kind) { recoveries_.Increment({std::string(kind)}); }
void Metrics::Recovered(std::string_view kind, absl::Duration took) {
  recovery_duration_.Observe(absl::ToDoubleSeconds(took), {std::string(kind)});
}
void Metrics::FailureJudged(std::string_view kind, std::string_view action) {
  failures_.Increment({std::string(kind), std::string(action)});
}
void Metrics::StatusWritten(bool progress_only) {
  status_writes_.Increment({progress_only ? "progress" : "decision"});
}

void Metrics::Finished(std::string_view verb, std::string_view resource, int code,
                       absl::Duration latency) {
  requests_.Increment({std::string(verb), std::string(resource), std::to_string(code)});
  request_duration_.Observe(absl::ToDoubleSeconds(latency), {std::string(verb)});
}
void Metrics::Throttled(absl::Duration wait) {
  throttle_duration_.Observe(absl::ToDoubleSeconds(wait));
}

void Metrics::Listed(std::string_view resource) { lists_.Increment({std::string(resource)}); }
void Metrics::WatchOpened(std::string_view resource) {
  watches_opened_.Increment({std::string(resource)});
}
void Metrics::WatchEnded(std::string_view resource, std::string_view reason) {
  watches_ended_.Increment({std::string(resource), std::string(reason)});
}

std::vector<prometheus::MetricFamily> Metrics::Collect() const {
  return {reconciles_.Collect(),         reconcile_duration_.Collect(),
          queue_duration_.Collect(),     work_duration_.Collect(),
          requests_.Collect(),           request_duration_.Collect(),
          throttle_duration_.Collect(),  lists_.Collect(),
          watches_opened_.Collect(),     watches_ended_.Collect(),
          leader_transitions_.Collect(), rounds_opened_.Collect(),
          recoveries_.Collect(),         recovery_duration_.Collect(),
          failures_.Collect(),           status_writes_.Collect()};
}

}  // namespace muster::control
