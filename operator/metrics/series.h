#ifndef MUSTER_OPERATOR_METRICS_SERIES_H_
#define MUSTER_OPERATOR_METRICS_SERIES_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "operator/metrics/metric_catalog.h"
#include "prometheus/metric_family.h"

namespace muster::control {

using LabelValues = std::vector<std::string>;  // in the order of the metric's labels

// Builds one family of the catalogue at scrape time.
class FamilyBuilder {
 public:
  explicit FamilyBuilder(MetricId id);
  FamilyBuilder& Add(double value, const LabelValues& labels = {});
  prometheus::MetricFamily Take() { return std::move(family_); }

 private:
  const MetricSpec& spec_;
  prometheus::MetricFamily family_;
};

// A metric that is counted as things happen.
class Series {
 public:
  virtual ~Series() = default;
  virtual prometheus::MetricFamily Collect() const = 0;
};

// Knows the series that were made with it. They must outlive every call of Collect(), and be made
// before another thread calls it.
class SeriesList {
 public:
  void Add(const Series& series) { all_.push_back(&series); }
  // Returns the families in the order in which the series were made.
  std::vector<prometheus::MetricFamily> Collect() const;

 private:
  std::vector<const Series*> all_;
};

// The counters of one metric. At most kMaxSeries sets of label values have their own series; later
// ones are counted under "other". Thread-safe.
class CounterSeries final : public Series {
 public:
  static constexpr size_t kMaxSeries = 500;

  explicit CounterSeries(MetricId id) : id_(id) {}
  CounterSeries(MetricId id, SeriesList& list) : CounterSeries(id) { list.Add(*this); }
  // Adds a series that is exported from the start, at 0.
  CounterSeries& With(const LabelValues& labels);
  void Increment(const LabelValues& labels = {});
  prometheus::MetricFamily Collect() const override;

 private:
  const MetricId id_;
  mutable Mutex mu_;
  std::map<LabelValues, int64_t> values_ MUSTER_GUARDED_BY(mu_);
};

// The histograms of one metric, bounded in the same way. Thread-safe.
class HistogramSeries final : public Series {
 public:
  explicit HistogramSeries(MetricId id);
  HistogramSeries(MetricId id, SeriesList& list) : HistogramSeries(id) { list.Add(*this); }
  // Adds a series that is exported from the start, without observations.
  HistogramSeries& With(const LabelValues& labels);
  void Observe(double value, const LabelValues& labels = {});
  prometheus::MetricFamily Collect() const override;

 private:
  struct Histogram {
    std::vector<uint64_t> counts;  // per bucket, not cumulative; the last has no bound
    double sum = 0;
  };
  const MetricId id_;
  mutable Mutex mu_;
  std::map<LabelValues, Histogram> values_ MUSTER_GUARDED_BY(mu_);
};

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_METRICS_SERIES_H_
