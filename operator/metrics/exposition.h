#ifndef MUSTER_OPERATOR_METRICS_EXPOSITION_H_
#define MUSTER_OPERATOR_METRICS_EXPOSITION_H_

#include <string>
#include <string_view>
#include <vector>

#include "prometheus/metric_family.h"

// Formats metric families as text. Pure.
namespace muster::control {

inline constexpr char kTextFormat[] = "text/plain; version=0.0.4; charset=utf-8";
inline constexpr char kOpenMetricsFormat[] =
    "application/openmetrics-text; version=1.0.0; charset=utf-8";

// Returns true if a request with this Accept header gets OpenMetrics: when it is named with a
// weight above zero and not below that of text/plain.
bool WantsOpenMetrics(std::string_view accept);

// Returns the Prometheus text format 0.0.4. Families without samples keep their HELP and TYPE.
std::string ToText(const std::vector<prometheus::MetricFamily>& families);

// Returns OpenMetrics 1.0: counters' metadata without _total, UNIT if the name ends in one, `le` as
// a float, and # EOF.
std::string ToOpenMetrics(const std::vector<prometheus::MetricFamily>& families);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_METRICS_EXPOSITION_H_
