#ifndef MUSTER_AGENT_NODE_NODE_METRIC_CATALOG_H_
#define MUSTER_AGENT_NODE_NODE_METRIC_CATALOG_H_

#include <string>
#include <vector>

#include "prometheus/metric_type.h"

namespace muster::agent {

// Every metric of the node agent.
enum class NodeMetric {
  kGpus,
  kGpuInfo,
  kGpuHealthy,
  kGpuUtilization,
  kGpuMemory,
  kGpuMemoryUsed,
  kGpuPower,
  kGpuPowerLimit,
  kGpuEnergy,
  kGpuTemperature,
  kGpuXids,
  kGpuEcc,
  kGpuRowsRemapped,
  kNvlinks,
  kNvlinkBytes,
  kNvlinkErrors,
  kInfinibandUp,
  kInfinibandHealthy,
  kInfinibandRate,
  kInfinibandBytes,
  kInfinibandErrors,
  kInfinibandWait,
  kNetworkUp,
  kDiskHealthy,
  kClockSynchronized,
  kClockMaxError,
  kConnected,
  kReports,
  kReadingSeconds,
  kCpuSeconds,
  kResidentBytes,
  kCount,
};

struct NodeMetricSpec {
  std::string name;
  prometheus::MetricType type = prometheus::MetricType::Gauge;
  std::vector<std::string> labels;
  std::string help;
};

// The specification of a metric. Lives forever; thread-safe.
const NodeMetricSpec& SpecOf(NodeMetric metric);

}  // namespace muster::agent

#endif  // MUSTER_AGENT_NODE_NODE_METRIC_CATALOG_H_
