#ifndef MUSTER_OPERATOR_WEB_LIVE_METRICS_H_
#define MUSTER_OPERATOR_WEB_LIVE_METRICS_H_

#include <string>
#include <vector>

#include "operator/web/web_deps.h"
#include "prometheus/metric_family.h"

namespace muster::control {

// Jobs with muster_job_* series, the first by name of those that have not ended.
inline constexpr size_t kMaxJobSeries = 100;
// Queues with series of their own, the first by name.
inline constexpr size_t kMaxQueueSeries = 100;

// Every metric of the catalogue: what was counted, and what is read now. Thread-safe.
std::vector<prometheus::MetricFamily> CollectMetrics(const WebDeps& deps);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_WEB_LIVE_METRICS_H_
