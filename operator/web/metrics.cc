#include "operator/web/metrics.h"

#include <utility>

#include "prometheus/text_serializer.h"

namespace muster::control {

ReconcileMetrics::ReconcileMetrics()
    : total_(prometheus::BuildCounter()
                 .Name("muster_reconcile_total")
                 .Help("Reconciles of jobs, by result.")
                 .Register(registry_)),
      seconds_(prometheus::BuildHistogram()
                   .Name("muster_reconcile_seconds")
                   .Help("Wall time of a reconcile, its API writes included.")
                   .Register(registry_)
                   .Add({}, prometheus::Histogram::BucketBoundaries{0.0005, 0.001, 0.005, 0.01,
                                                                    0.05, 0.1, 0.5, 1, 5})) {
  for (const char* result : {"success", "conflict", "error"}) total_.Add({{"result", result}});
}

void ReconcileMetrics::Observe(const std::string& result, absl::Duration took) {
  total_.Add({{"result", result}}).Increment();
  seconds_.Observe(absl::ToDoubleSeconds(took));
}

FamilyBuilder::FamilyBuilder(std::string name, std::string help, prometheus::MetricType type) {
  family_.name = std::move(name);
  family_.help = std::move(help);
  family_.type = type;
}

FamilyBuilder& FamilyBuilder::Add(double value,
                                  const std::vector<std::pair<std::string, std::string>>& labels) {
  prometheus::ClientMetric metric;
  for (const auto& [name, text] : labels) {
    prometheus::ClientMetric::Label label;
    label.name = name;
    label.value = text;
    metric.label.push_back(std::move(label));
  }
  if (family_.type == prometheus::MetricType::Counter) {
    metric.counter.value = value;
  } else {
    metric.gauge.value = value;
  }
  family_.metric.push_back(std::move(metric));
  return *this;
}

std::string ToText(const std::vector<prometheus::MetricFamily>& families) {
  return prometheus::TextSerializer().Serialize(families);
}

}  // namespace muster::control
