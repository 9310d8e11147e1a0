#include "agent/node/node_metric_catalog.h"

#include <array>
#include <cstddef>

namespace muster::agent {
namespace {

using prometheus::MetricType;

constexpr size_t kMetrics = static_cast<size_t>(NodeMetric::kCount);
constexpr MetricType kGauge = MetricType::Gauge;
constexpr MetricType kCounter = MetricType::Counter;

using Catalog = std::array<NodeMetricSpec, kMetrics>;

void Set(Catalog& all, NodeMetric metric, NodeMetricSpec spec) {
  all[static_cast<size_t>(metric)] = std::move(spec);
}

void AddGpus(Catalog& all) {
  const std::vector<std::string> gpu = {"gpu", "uuid"};
  Set(all, NodeMetric::kGpus,
      {"muster_node_gpus", kGauge, {}, "GPUs of the node; 0 also where NVML is absent."});
  Set(all, NodeMetric::kGpuInfo,
      {"muster_node_gpu_info", kGauge, {"gpu", "uuid", "product", "pci", "driver"}, "Always 1."});
  Set(all, NodeMetric::kGpuHealthy,
      {"muster_node_gpu_healthy", kGauge, gpu,
       "1, or 0 while the GPU has a fault: a fatal XID, an uncorrectable ECC error, no spare rows, "
       "lost."});
  Set(all, NodeMetric::kGpuUtilization,
      {"muster_node_gpu_utilization_ratio", kGauge, gpu,
       "Share of the driver's last sampling period in which a kernel ran."});
  Set(all, NodeMetric::kGpuMemory, {"muster_node_gpu_memory_bytes", kGauge, gpu, "Memory."});
  Set(all, NodeMetric::kGpuMemoryUsed,
      {"muster_node_gpu_memory_used_bytes", kGauge, gpu, "Memory in use."});
  Set(all, NodeMetric::kGpuPower, {"muster_node_gpu_power_watts", kGauge, gpu, "Power draw."});
  Set(all, NodeMetric::kGpuPowerLimit,
      {"muster_node_gpu_power_limit_watts", kGauge, gpu, "Power limit in force."});
  Set(all, NodeMetric::kGpuEnergy,
      {"muster_node_gpu_energy_joules_total", kCounter, gpu,
       "Energy used since the driver was loaded."});
  Set(all, NodeMetric::kGpuTemperature,
      {"muster_node_gpu_temperature_celsius", kGauge, gpu, "Temperature of the GPU's core."});
  Set(all, NodeMetric::kGpuXids,
      {"muster_node_gpu_xid_errors_total",
       kCounter,
       {"gpu", "uuid", "xid"},
       "XID errors since the node started, from the agent's first start on."});
  Set(all, NodeMetric::kGpuEcc,
      {"muster_node_gpu_ecc_errors_total",
       kCounter,
       {"gpu", "uuid", "kind"},
       "ECC errors since the driver was loaded: corrected, uncorrected."});
  Set(all, NodeMetric::kGpuRowsRemapped,
      {"muster_node_gpu_remapped_rows", kGauge, gpu, "Rows of memory replaced by spare ones."});
}

void AddLinks(Catalog& all) {
  const std::vector<std::string> port = {"device", "port"};
  Set(all, NodeMetric::kNvlinks,
      {"muster_node_nvlinks",
       kGauge,
       {"gpu", "uuid", "state"},
       "NVLinks of the GPU: active, inactive."});
  Set(all, NodeMetric::kNvlinkBytes,
      {"muster_node_nvlink_bytes_total",
       kCounter,
       {"gpu", "uuid", "direction"},
       "Data over all NVLinks of the GPU: sent, received."});
  Set(all, NodeMetric::kNvlinkErrors,
      {"muster_node_nvlink_errors_total",
       kCounter,
       {"gpu", "uuid", "kind"},
       "Errors of all NVLinks of the GPU: crc, replay, recovery."});
  Set(all, NodeMetric::kInfinibandUp,
      {"muster_node_infiniband_up", kGauge, port, "1 if the port is ACTIVE."});
  Set(all, NodeMetric::kInfinibandHealthy,
      {"muster_node_infiniband_healthy", kGauge, port,
       "1, or 0 while the port has a fault: it went down, its link flaps, too many symbol "
       "errors."});
  Set(all, NodeMetric::kInfinibandRate,
      {"muster_node_infiniband_rate_bytes_per_second", kGauge, port, "Rate of the link."});
  Set(all, NodeMetric::kInfinibandBytes,
      {"muster_node_infiniband_bytes_total",
       kCounter,
       {"device", "port", "direction"},
       "Data through the port: sent, received."});
  Set(all, NodeMetric::kInfinibandErrors,
      {"muster_node_infiniband_errors_total",
       kCounter,
       {"device", "port", "kind"},
       "Errors of the port: symbol, recovery, down, receive, discard."});
  Set(all, NodeMetric::kInfinibandWait,
      {"muster_node_infiniband_send_wait_ticks_total", kCounter, port,
       "Ticks in which data waited and could not be sent, for want of credits: congestion."});
  Set(all, NodeMetric::kNetworkUp,
      {"muster_node_network_up", kGauge, {"device"}, "1 if the network card's link is up."});
}

void AddMachine(Catalog& all) {
  Set(all, NodeMetric::kDiskHealthy,
      {"muster_node_disk_healthy",
       kGauge,
       {"device"},
       "1, or 0 while the disk's controller has failed."});
  Set(all, NodeMetric::kClockSynchronized,
      {"muster_node_clock_synchronized",
       kGauge,
       {},
       "1 if the kernel knows of something that sets its clock, such as NTP."});
  Set(all, NodeMetric::kClockMaxError,
      {"muster_node_clock_max_error_seconds",
       kGauge,
       {},
       "The most by which the clock may be wrong; grows while nothing sets it."});
}

void AddOwn(Catalog& all) {
  Set(all, NodeMetric::kConnected,
      {"muster_node_agent_connected",
       kGauge,
       {},
       "1 while the agent has a stream to the leading operator."});
  Set(all, NodeMetric::kReports,
      {"muster_node_agent_reports_total", kCounter, {}, "Reports sent to the operator."});
  Set(all, NodeMetric::kReadingSeconds,
      {"muster_node_agent_reading_seconds", kGauge, {}, "Duration of the last reading."});
  Set(all, NodeMetric::kCpuSeconds,
      {"muster_node_agent_cpu_seconds_total", kCounter, {}, "CPU time of the agent itself."});
  Set(all, NodeMetric::kResidentBytes,
      {"muster_node_agent_resident_bytes", kGauge, {}, "Resident memory of the agent itself."});
}

}  // namespace

const NodeMetricSpec& SpecOf(NodeMetric metric) {
  static const Catalog* const all = [] {
    auto* catalog = new Catalog;
    AddGpus(*catalog);
    AddLinks(*catalog);
    AddMachine(*catalog);
    AddOwn(*catalog);
    return catalog;
  }();
  return (*all)[static_cast<size_t>(metric)];
}

}  // namespace muster::agent
