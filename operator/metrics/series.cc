#include "operator/metrics/series.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace muster::control {
namespace {

prometheus::MetricFamily FamilyOf(const MetricSpec& spec) {
  prometheus::MetricFamily family;
  family.name = spec.name;
  family.help = spec.help;
  family.type = spec.type;
  return family;
}

prometheus::ClientMetric MetricOf(const MetricSpec& spec, const LabelValues& values) {
  prometheus::ClientMetric metric;
  for (size_t i = 0; i < spec.labels.size() && i < values.size(); ++i) {
    metric.label.push_back({spec.labels[i], values[i]});
  }
  return metric;
}

template <typename Map>
typename Map::mapped_type& FindBounded(Map& map, const LabelValues& labels) {
  const auto known = map.find(labels);
  if (known != map.end()) return known->second;
  if (map.size() < CounterSeries::kMaxSeries) return map[labels];
  return map[LabelValues(labels.size(), "other")];
}

}  // namespace

FamilyBuilder::FamilyBuilder(MetricId id) : spec_(SpecOf(id)), family_(FamilyOf(spec_)) {}

FamilyBuilder& FamilyBuilder::Add(double value, const LabelValues& labels) {
  prometheus::ClientMetric metric = MetricOf(spec_, labels);
  if (family_.type == prometheus::MetricType::Counter) {
    metric.counter.value = value;
  } else {
    metric.gauge.value = value;
  }
  family_.metric.push_back(std::move(metric));
  return *this;
}

std::vector<prometheus::MetricFamily> SeriesList::Collect() const {
  std::vector<prometheus::MetricFamily> families;
  for (const Series* series : all_) families.push_back(series->Collect());
  return families;
}

CounterSeries& CounterSeries::With(const LabelValues& labels) {
  MutexLock lock(mu_);
  values_[labels];
  return *this;
}

void CounterSeries::Increment(const LabelValues& labels) {
  MutexLock lock(mu_);
  ++FindBounded(values_, labels);
}

prometheus::MetricFamily CounterSeries::Collect() const {
  FamilyBuilder family(id_);
  MutexLock lock(mu_);
  for (const auto& [labels, value] : values_) family.Add(static_cast<double>(value), labels);
  return family.Take();
}

HistogramSeries::HistogramSeries(MetricId id) : id_(id) {
  if (SpecOf(id).labels.empty()) With({});
}

HistogramSeries& HistogramSeries::With(const LabelValues& labels) {
  MutexLock lock(mu_);
  values_[labels].counts.resize(SpecOf(id_).buckets.size() + 1);
  return *this;
}

void HistogramSeries::Observe(double value, const LabelValues& labels) {
  const std::vector<double>& bounds = SpecOf(id_).buckets;
  const size_t bucket = std::lower_bound(bounds.begin(), bounds.end(), value) - bounds.begin();
  MutexLock lock(mu_);
  Histogram& histogram = FindBounded(values_, labels);
  histogram.counts.resize(bounds.size() + 1);
  ++histogram.counts[bucket];
  histogram.sum += value;
}

prometheus::MetricFamily HistogramSeries::Collect() const {
  const MetricSpec& spec = SpecOf(id_);
  prometheus::MetricFamily family = FamilyOf(spec);
  MutexLock lock(mu_);
  for (const auto& [labels, histogram] : values_) {
    prometheus::ClientMetric metric = MetricOf(spec, labels);
    uint64_t total = 0;
    for (size_t i = 0; i < histogram.counts.size(); ++i) {
      total += histogram.counts[i];
      const double bound =
          i < spec.buckets.size() ? spec.buckets[i] : std::numeric_limits<double>::infinity();
      metric.histogram.bucket.push_back({total, bound});
    }
    metric.histogram.sample_count = total;
    metric.histogram.sample_sum = histogram.sum;
    family.metric.push_back(std::move(metric));
  }
  return family;
}

}  // namespace muster::control
