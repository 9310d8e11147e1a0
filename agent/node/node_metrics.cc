#include "agent/node/node_metrics.h"

#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "agent/node/node_metric_catalog.h"
#include "prometheus/metric_family.h"
#include "prometheus/text_serializer.h"

namespace muster::agent {
namespace {

using LabelValues = std::vector<std::string>;

// The families of one page.
class Page {
 public:
  Page() : families_(static_cast<size_t>(NodeMetric::kCount)) {
    for (size_t i = 0; i < families_.size(); ++i) {
      const NodeMetricSpec& spec = SpecOf(static_cast<NodeMetric>(i));
      families_[i].name = spec.name;
      families_[i].help = spec.help;
      families_[i].type = spec.type;
    }
  }

  // `values` are those of the metric's labels, in their order. Does nothing without a value.
  template <typename Value>
  void Add(NodeMetric metric, const std::optional<Value>& value, const LabelValues& values = {}) {
    if (!value.has_value()) return;
    const NodeMetricSpec& spec = SpecOf(metric);
    prometheus::ClientMetric sample;
    for (size_t i = 0; i < spec.labels.size(); ++i) {
      sample.label.push_back({spec.labels[i], values[i]});
    }
    const auto number = static_cast<double>(*value);
    if (spec.type == prometheus::MetricType::Counter) {
      sample.counter.value = number;
    } else {
      sample.gauge.value = number;
    }
    families_[static_cast<size_t>(metric)].metric.push_back(std::move(sample));
  }
  void Add(NodeMetric metric, double value, const LabelValues& values = {}) {
    Add(metric, std::optional<double>(value), values);
  }

  std::string Text() const { return prometheus::TextSerializer().Serialize(families_); }

 private:
  std::vector<prometheus::MetricFamily> families_;
};

std::optional<uint64_t> Sum(const std::vector<NvlinkReading>& links,
                            std::optional<uint64_t> NvlinkReading::* counter) {
  std::optional<uint64_t> sum;
  for (const NvlinkReading& link : links) {
    if (link.*counter) sum = sum.value_or(0) + *(link.*counter);
  }
  return sum;
}

void AddNvlinks(const GpuReading& gpu, const std::string& index, Page& page) {
  if (gpu.nvlinks.empty()) return;
  size_t active = 0;
  for (const NvlinkReading& link : gpu.nvlinks) active += link.active ? 1 : 0;
  const auto with = [&](const char* last) { return LabelValues{index, gpu.uuid, last}; };
  page.Add(NodeMetric::kNvlinks, static_cast<double>(active), with("active"));
  page.Add(NodeMetric::kNvlinks, static_cast<double>(gpu.nvlinks.size() - active),
           with("inactive"));
  page.Add(NodeMetric::kNvlinkBytes, gpu.nvlink_sent_bytes, with("sent"));
  page.Add(NodeMetric::kNvlinkBytes, gpu.nvlink_received_bytes, with("received"));
  page.Add(NodeMetric::kNvlinkErrors, Sum(gpu.nvlinks, &NvlinkReading::crc_errors), with("crc"));
  page.Add(NodeMetric::kNvlinkErrors, Sum(gpu.nvlinks, &NvlinkReading::replays), with("replay"));
  page.Add(NodeMetric::kNvlinkErrors, Sum(gpu.nvlinks, &NvlinkReading::recoveries),
           with("recovery"));
}

void AddGpu(const GpuReading& gpu, const std::string& driver, const XidCounts& xids, Page& page) {
  const std::string index = absl::StrCat(gpu.index);
  const LabelValues labels = {index, gpu.uuid};
  page.Add(NodeMetric::kGpuInfo, 1, {index, gpu.uuid, gpu.product, gpu.pci_address, driver});
  page.Add(NodeMetric::kGpuHealthy, FaultsOf(gpu, xids).empty() ? 1 : 0, labels);
  page.Add(NodeMetric::kGpuUtilization, gpu.utilization, labels);
  page.Add(NodeMetric::kGpuMemory, static_cast<double>(gpu.memory_bytes), labels);
  page.Add(NodeMetric::kGpuMemoryUsed, gpu.memory_used_bytes, labels);
  page.Add(NodeMetric::kGpuPower, gpu.power_watts, labels);
  page.Add(NodeMetric::kGpuPowerLimit, gpu.power_limit_watts, labels);
  page.Add(NodeMetric::kGpuEnergy, gpu.energy_joules, labels);
  page.Add(NodeMetric::kGpuTemperature, gpu.temperature_celsius, labels);
  page.Add(NodeMetric::kGpuEcc, gpu.ecc_corrected, {index, gpu.uuid, "corrected"});
  page.Add(NodeMetric::kGpuEcc, gpu.ecc_uncorrected, {index, gpu.uuid, "uncorrected"});
  page.Add(NodeMetric::kGpuRowsRemapped, gpu.rows_remapped, labels);
  for (auto it = xids.lower_bound({gpu.uuid, 0}); it != xids.end() && it->first.first == gpu.uuid;
       ++it) {
    page.Add(NodeMetric::kGpuXids, static_cast<double>(it->second),
             {index, gpu.uuid, absl::StrCat(it->first.second)});
  }
  AddNvlinks(gpu, index, page);
}

void AddPort(const InfinibandReading& port, bool healthy, Page& page) {
  constexpr double kBytesOfGigabit = 1e9 / 8;
  const std::string number = absl::StrCat(port.port);
  const LabelValues labels = {port.device, number};
  const auto with = [&](const char* last) { return LabelValues{port.device, number, last}; };
  page.Add(NodeMetric::kInfinibandUp, port.state == "ACTIVE" ? 1 : 0, labels);
  page.Add(NodeMetric::kInfinibandHealthy, healthy ? 1 : 0, labels);
  page.Add(NodeMetric::kInfinibandRate, port.gigabits_per_second * kBytesOfGigabit, labels);
  const InfinibandCounters& counters = port.counters;
  page.Add(NodeMetric::kInfinibandBytes, counters.sent_bytes, with("sent"));
  page.Add(NodeMetric::kInfinibandBytes, counters.received_bytes, with("received"));
  page.Add(NodeMetric::kInfinibandErrors, counters.symbol_errors, with("symbol"));
  page.Add(NodeMetric::kInfinibandErrors, counters.link_recoveries, with("recovery"));
  page.Add(NodeMetric::kInfinibandErrors, counters.link_downs, with("down"));
  page.Add(NodeMetric::kInfinibandErrors, counters.receive_errors, with("receive"));
  page.Add(NodeMetric::kInfinibandErrors, counters.send_discards, with("discard"));
  page.Add(NodeMetric::kInfinibandWait, counters.send_wait_ticks, labels);
}

}  // namespace

std::string MetricsPage(const NodeReadings& readings, const NodeMemory& memory,
                        const AgentFigures& own) {
  Page page;
  page.Add(NodeMetric::kGpus, static_cast<double>(readings.gpus.gpus.size()));
  for (const GpuReading& gpu : readings.gpus.gpus) {
    AddGpu(gpu, readings.gpus.driver_version, memory.xids, page);
  }
  for (const InfinibandReading& port : readings.infiniband_ports) {
    AddPort(port, FaultsOf(port, memory.machine, readings.at).empty(), page);
  }
  for (const DiskReading& disk : readings.disks) {
    page.Add(NodeMetric::kDiskHealthy, FaultsOf(disk, memory.machine, readings.at).empty() ? 1 : 0,
             {disk.name});
  }
  if (readings.clock.has_value()) {
    page.Add(NodeMetric::kClockSynchronized, readings.clock->synchronized ? 1 : 0);
    page.Add(NodeMetric::kClockMaxError, readings.clock->max_error_seconds);
  }
  for (const NetworkCardReading& card : readings.network_cards) {
    page.Add(NodeMetric::kNetworkUp, card.up ? 1 : 0, {card.name});
  }
  page.Add(NodeMetric::kConnected, own.connected ? 1 : 0);
  page.Add(NodeMetric::kReports, static_cast<double>(own.reports));
  page.Add(NodeMetric::kReadingSeconds, own.reading_seconds);
  page.Add(NodeMetric::kCpuSeconds, own.cpu_seconds);
  page.Add(NodeMetric::kResidentBytes, own.resident_bytes);
  return page.Text();
}

}  // namespace muster::agent
