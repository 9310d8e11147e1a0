#include "agent/node/report_builder.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "absl/time/time.h"
#include "base/utf8.h"

namespace muster::agent {
namespace {

using v1alpha1::NodeReport;

// A machine has fewer; a broken sysfs shall not make a message that is too large to send.
constexpr size_t kMostOfAKind = 512;

// Returns `text` with a question mark for each byte that is not UTF-8, which protobuf refuses.
std::string Mended(std::string_view text) {
  std::string mended;
  while (!text.empty()) {
    const size_t length = Utf8SequenceLength(text);
    mended += length == 0 ? "?" : text.substr(0, length);
    text.remove_prefix(std::max<size_t>(length, 1));
  }
  return mended;
}

void AddFaults(const std::vector<HealthFault>& faults,
               google::protobuf::RepeatedPtrField<v1alpha1::HardwareFault>& told) {
  for (const HealthFault& fault : faults) {
    v1alpha1::HardwareFault& found = *told.Add();
    found.set_reason(fault.reason);
    found.set_detail(Mended(fault.detail));
  }
}

void AddGpu(const GpuReading& gpu, const XidCounts& xids, NodeReport& report) {
  v1alpha1::GpuReport& told = *report.add_gpus();
  told.set_index(gpu.index);
  told.set_uuid(Mended(gpu.uuid));
  told.set_product(Mended(gpu.product));
  told.set_pci_address(Mended(gpu.pci_address));
  if (gpu.numa_node) told.set_numa_node(*gpu.numa_node);
  told.set_memory_bytes(static_cast<int64_t>(gpu.memory_bytes));
  told.set_nvlink_cluster(gpu.nvlink_cluster);
  told.set_nvlink_clique(static_cast<int32_t>(gpu.nvlink_clique));
  told.set_nvlinks(static_cast<int32_t>(gpu.nvlinks.size()));
  told.set_nvlinks_active(static_cast<int32_t>(std::count_if(
      gpu.nvlinks.begin(), gpu.nvlinks.end(), [](auto& link) { return link.active; })));
  AddFaults(FaultsOf(gpu, xids), *told.mutable_faults());
}

void AddPort(const InfinibandReading& port, const NodeReadings& readings, const MachinePast& past,
             NodeReport& report) {
  v1alpha1::InfinibandPort& told = *report.add_infiniband_ports();
  told.set_device(Mended(port.device));
  told.set_port(port.port);
  told.set_pci_address(Mended(port.pci_address));
  if (port.numa_node) told.set_numa_node(*port.numa_node);
  told.set_node_guid(port.node_guid);
  told.set_state(Mended(port.state));
  told.set_gigabits_per_second(port.gigabits_per_second);
  told.set_link_layer(Mended(port.link_layer));
  AddFaults(FaultsOf(port, past, readings.at), *told.mutable_faults());
  const auto end = readings.fabric.find({port.node_guid, port.port});
  if (port.node_guid.empty() || end == readings.fabric.end()) return;
  told.set_switch_guid(end->second.guid);
  told.set_switch_name(Mended(end->second.name));
}

void AddCard(const NetworkCardReading& card, NodeReport& report) {
  v1alpha1::NetworkCard& told = *report.add_network_cards();
  told.set_name(Mended(card.name));
  told.set_pci_address(Mended(card.pci_address));
  if (card.numa_node) told.set_numa_node(*card.numa_node);
  if (card.megabits_per_second) told.set_megabits_per_second(*card.megabits_per_second);
  told.set_up(card.up);
}

void AddNotice(const Notice& notice, NodeReport& report) {
  v1alpha1::NodeNotice& told = *report.mutable_notice();
  told.set_kind(Mended(notice.kind));
  told.set_who(Mended(notice.who));
  if (notice.deadline) told.set_deadline_unix_ms(absl::ToUnixMillis(*notice.deadline));
  told.set_text(Mended(notice.text));
}

// Calls `add` for the first kMostOfAKind of `all`.
template <typename List, typename Add>
void Each(const List& all, Add add) {
  for (size_t i = 0; i < std::min(all.size(), kMostOfAKind); ++i) add(all[i]);
}

}  // namespace

NodeReport ReportOf(const NodeReadings& readings, const NodeMemory& memory) {
  NodeReport report;
  Each(readings.gpus.gpus, [&](const GpuReading& gpu) { AddGpu(gpu, memory.xids, report); });
  report.set_driver_version(Mended(readings.gpus.driver_version));
  report.set_gpu_absence(Mended(readings.gpus.absence));
  Each(readings.numa_nodes, [&](const NumaReading& node) {
    v1alpha1::NumaNode& told = *report.add_numa_nodes();
    told.set_index(node.index);
    told.set_cpus(Mended(node.cpus));
    told.set_memory_bytes(node.memory_bytes);
  });
  Each(readings.network_cards, [&](const auto& card) { AddCard(card, report); });
  Each(readings.infiniband_ports,
       [&](const auto& port) { AddPort(port, readings, memory.machine, report); });
  if (!readings.infiniband_ports.empty()) {
    report.set_fabric_absence(Mended(readings.fabric_absence));
  }
  Each(readings.disks, [&](const DiskReading& disk) {
    v1alpha1::Disk& told = *report.add_disks();
    told.set_name(Mended(disk.name));
    told.set_model(Mended(disk.model));
    told.set_bytes(disk.bytes);
    told.set_rotational(disk.rotational);
    AddFaults(FaultsOf(disk, memory.machine, readings.at), *told.mutable_faults());
  });
  if (readings.notice) AddNotice(*readings.notice, report);
  return report;
}

}  // namespace muster::agent
