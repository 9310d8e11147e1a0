#ifndef MUSTER_OPERATOR_WEB_JOB_METRICS_H_
#define MUSTER_OPERATOR_WEB_JOB_METRICS_H_

#include <cstddef>
#include <vector>

#include "operator/web/web_deps.h"
#include "prometheus/metric_family.h"

namespace muster::control {

// The largest number of jobs with muster_job_* series: the first by name of those that run.
inline constexpr size_t kMaxJobSeries = 100;
// The largest number of other jobs, which have muster_job_info alone: those that failed, the newest
// failure first, then others by name.
inline constexpr size_t kMaxOtherJobs = 100;

// Appends the metrics of jobs: how many are in which state, and the figures of single ones.
// Thread-safe.
void AddJobMetrics(const WebDeps& deps, std::vector<prometheus::MetricFamily>& out);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_WEB_JOB_METRICS_H_
