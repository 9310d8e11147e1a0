#ifndef MUSTER_OPERATOR_WEB_LIVE_METRICS_H_
#define MUSTER_OPERATOR_WEB_LIVE_METRICS_H_

#include <string>
#include <vector>

#include "operator/web/web_deps.h"
#include "prometheus/metric_family.h"

namespace muster::control {

// The largest number of queues with their own series: the first by name.
inline constexpr size_t kMaxQueueSeries = 100;

// Returns every metric of the catalogue: the counted ones, and those that are read at this moment.
// Thread-safe.
std::vector<prometheus::MetricFamily> CollectMetrics(const WebDeps& deps);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_WEB_LIVE_METRICS_H_
