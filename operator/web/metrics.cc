#include "operator/web/metrics.h"

#include <map>

#include "prometheus/counter.h"
#include "prometheus/gauge.h"
#include "prometheus/histogram.h"
#include "prometheus/registry.h"
#include "prometheus/text_serializer.h"

namespace muster::control {
namespace {

using prometheus::Counter;
using prometheus::Family;
using prometheus::Gauge;

const char* Name(ReconcileResult result) {
  switch (result) {
    case ReconcileResult::kSuccess:
      return "success";
    case ReconcileResult::kRequeueAfter:
      return "requeue_after";
    case ReconcileResult::kRequeue:
      return "requeue";
    case ReconcileResult::kError:
      return "error";
  }
  return "error";
}

}  // namespace

class Metrics::Impl {
 public:
  prometheus::Registry registry;
  Family<Counter>& reconciles = prometheus::BuildCounter()
                                    .Name("muster_reconcile_total")
                                    .Help("Reconciles by how they ended.")
                                    .Register(registry);
  Family<prometheus::Histogram>& durations = prometheus::BuildHistogram()
                                                 .Name("muster_reconcile_seconds")
                                                 .Help("Time of one reconcile.")
                                                 .Register(registry);
  prometheus::Histogram& duration = durations.Add(
      {},
      prometheus::Histogram::BucketBoundaries{0.0005, 0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5});
  Family<Counter>& rounds = prometheus::BuildCounter()
                                .Name("muster_rounds_total")
                                .Help("Rounds opened, by the reason that opened them.")
                                .Register(registry);
  Family<Counter>& orders = prometheus::BuildCounter()
                                .Name("muster_orders_total")
                                .Help("Orders sent to agents, by kind.")
                                .Register(registry);
  Family<Counter>& api_errors = prometheus::BuildCounter()
                                    .Name("muster_api_errors_total")
                                    .Help("Failed calls of the API server, by code.")
                                    .Register(registry);
};

Metrics::Metrics() : impl_(std::make_unique<Impl>()) {}
Metrics::~Metrics() = default;

void Metrics::CountReconcile(ReconcileResult result, absl::Duration took) {
  impl_->reconciles.Add({{"result", Name(result)}}).Increment();
  impl_->duration.Observe(absl::ToDoubleSeconds(took));
}
void Metrics::CountRound(const std::string& reason) {
  impl_->rounds.Add({{"reason", reason}}).Increment();
}
void Metrics::CountOrder(const std::string& kind) {
  impl_->orders.Add({{"kind", kind}}).Increment();
}
void Metrics::CountApiError(const std::string& code) {
  impl_->api_errors.Add({{"code", code}}).Increment();
}

// Gauges are made afresh for each scrape, so that a deleted job leaves nothing behind.
std::string Metrics::Text(const LiveFigures& figures) {
  prometheus::Registry live;
  const auto gauge = [&live](const std::string& name, const std::string& help) -> Family<Gauge>& {
    return prometheus::BuildGauge().Name(name).Help(help).Register(live);
  };
  gauge("muster_queue_waiting", "Keys ready to be reconciled.")
      .Add({})
      .Set(static_cast<double>(figures.queue_waiting));
  gauge("muster_queue_delayed", "Keys waiting for their time.")
      .Add({})
      .Set(static_cast<double>(figures.queue_delayed));
  gauge("muster_agents_attached", "Worker agents with an open stream.")
      .Add({})
      .Set(figures.agents_attached);
  auto& states = gauge("muster_jobs", "Jobs by state.");
  auto& step = gauge("muster_job_step", "Newest committed step.");
  auto& loss = gauge("muster_job_loss", "Training loss of that step.");
  auto& speed = gauge("muster_job_tokens_per_second", "Tokens trained on per second.");
  auto& round = gauge("muster_job_round", "Number of the job's round.");
  auto& ready = gauge("muster_job_workers_ready", "Workers that are ready.");
  std::map<std::string, int> by_state;
  for (const LiveFigures::Job& job : figures.jobs) {
    const prometheus::Labels labels = {{"namespace", job.ns}, {"job", job.name}};
    ++by_state[job.state.empty() ? "Pending" : job.state];
    step.Add(labels).Set(static_cast<double>(job.step));
    loss.Add(labels).Set(job.loss);
    speed.Add(labels).Set(job.tokens_per_second);
    round.Add(labels).Set(static_cast<double>(job.round));
    ready.Add(labels).Set(job.workers_ready);
  }
  for (const auto& [state, count] : by_state) states.Add({{"state", state}}).Set(count);
  auto collected = impl_->registry.Collect();
  for (auto& family : live.Collect()) collected.push_back(std::move(family));
  return prometheus::TextSerializer().Serialize(collected);
}

}  // namespace muster::control
