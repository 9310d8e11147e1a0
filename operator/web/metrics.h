#ifndef MUSTER_OPERATOR_WEB_METRICS_H_
#define MUSTER_OPERATOR_WEB_METRICS_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "prometheus/counter.h"
#include "prometheus/histogram.h"
#include "prometheus/metric_family.h"
#include "prometheus/registry.h"

namespace muster::control {

// What is counted as it happens; everything else on /metrics is read at scrape time. Thread-safe.
class ReconcileMetrics {
 public:
  ReconcileMetrics();

  // `result`: success, conflict or error.
  void Observe(const std::string& result, absl::Duration took);
  std::vector<prometheus::MetricFamily> Collect() const { return registry_.Collect(); }

 private:
  prometheus::Registry registry_;
  prometheus::Family<prometheus::Counter>& total_;
  prometheus::Histogram& seconds_;
};

// One family of gauges or counters read at scrape time.
//
//   FamilyBuilder jobs("muster_jobs", "Jobs by state.", prometheus::MetricType::Gauge);
//   jobs.Add(3, {{"state", "Training"}});
class FamilyBuilder {
 public:
  FamilyBuilder(std::string name, std::string help, prometheus::MetricType type);
  FamilyBuilder& Add(double value,
                     const std::vector<std::pair<std::string, std::string>>& labels = {});
  prometheus::MetricFamily Take() { return std::move(family_); }

 private:
  prometheus::MetricFamily family_;
};

// The text format 0.0.4.
std::string ToText(const std::vector<prometheus::MetricFamily>& families);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_WEB_METRICS_H_
