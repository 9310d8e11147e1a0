#ifndef MUSTER_AGENT_HARDWARE_READING_H_
#define MUSTER_AGENT_HARDWARE_READING_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

// The findings of this folder's readers on a machine, at one time. Plain values. An optional that
// is empty is a value that this machine or driver does not give.
namespace muster::agent {

struct NvlinkReading {
  int link = 0;
  bool active = false;
  // Since the driver was loaded.
  std::optional<uint64_t> crc_errors;
  std::optional<uint64_t> replays;
  std::optional<uint64_t> recoveries;
};

struct GpuReading {
  int index = 0;
  std::string uuid;         // "GPU-5f..."; empty for a GPU that was lost before it was ever read
  std::string product;      // "NVIDIA H100 80GB HBM3"
  std::string pci_address;  // "0000:1b:00.0"
  std::optional<int> numa_node;
  bool lost = false;  // the driver no longer reaches it; everything below is empty

  uint64_t memory_bytes = 0;
  std::optional<uint64_t> memory_used_bytes;
  std::optional<double> utilization;  // 0 to 1, over the driver's last sampling period
  std::optional<double> power_watts;
  std::optional<double> power_limit_watts;
  std::optional<double> energy_joules;  // since the driver was loaded
  std::optional<double> temperature_celsius;
  // Errors since the driver was loaded.
  std::optional<uint64_t> ecc_corrected;
  std::optional<uint64_t> ecc_uncorrected;
  std::optional<uint64_t> rows_remapped;
  bool row_remap_pending = false;
  bool row_remap_failed = false;

  std::vector<NvlinkReading> nvlinks;
  std::optional<uint64_t> nvlink_sent_bytes;
  std::optional<uint64_t> nvlink_received_bytes;
  // The NVLink domain across nodes, 32 hexadecimal digits with dashes; empty without one.
  std::string nvlink_cluster;
  uint32_t nvlink_clique = 0;
};

// One device on which CUDA computes: a whole GPU, or a MIG device, which is a part of one.
struct GpuDevice {
  std::string uuid;         // "GPU-5f..." or "MIG-3a...", as CUDA_VISIBLE_DEVICES takes it
  int gpu = 0;              // the index of the GPU that it is, or that it is a part of
  std::string product;      // the GPU's
  std::string pci_address;  // the GPU's
  std::optional<int> numa_node;
};

struct GpuDevices {
  // Why NVML cannot list devices, in words; empty if it answers.
  std::string absence;
  std::string driver_version;  // "580.65.06"
  // In the order of the driver.
  std::vector<GpuDevice> devices;
  // The distance between two devices, by their places in `devices`: 0 within one GPU, 1 over
  // NVLink, 2 to 7 from one board to the whole machine.
  std::vector<std::vector<int>> distances;
};

// An error that a GPU reported to the driver.
struct XidEvent {
  std::string gpu_uuid;
  uint64_t xid = 0;
};

struct GpuReadings {
  // Why there are no GPUs to read, in words; empty if NVML answers.
  std::string absence;
  std::string driver_version;
  std::vector<GpuReading> gpus;
  // The events since the last reading.
  std::vector<XidEvent> xids;
};

struct NumaReading {
  int index = 0;
  std::string cpus;  // "0-31,64-95"
  int64_t memory_bytes = 0;
};

struct NetworkCardReading {
  std::string name;
  std::string pci_address;
  std::optional<int> numa_node;
  std::optional<int64_t> megabits_per_second;  // empty while the link is down
  bool up = false;
};

struct InfinibandCounters {
  std::optional<uint64_t> sent_bytes;
  std::optional<uint64_t> received_bytes;
  std::optional<uint64_t> symbol_errors;
  std::optional<uint64_t> link_recoveries;
  std::optional<uint64_t> link_downs;
  std::optional<uint64_t> receive_errors;
  std::optional<uint64_t> send_discards;
  std::optional<uint64_t> send_wait_ticks;
};

struct InfinibandReading {
  std::string device;  // "mlx5_0"
  int port = 0;
  std::string pci_address;
  std::optional<int> numa_node;
  std::string node_guid;   // 16 hexadecimal digits
  std::string state;       // "ACTIVE"
  std::string link_layer;  // "InfiniBand" or "Ethernet"
  double gigabits_per_second = 0;
  InfinibandCounters counters;
};

struct DiskReading {
  std::string name;
  std::string model;
  int64_t bytes = 0;
  bool rotational = false;
  // The kernel's word for its controller: "live" or "dead" of NVMe, "running" or "offline" of SCSI;
  // empty where the driver has none.
  std::string state;
};

// The kernel's own view of its clock, by adjtimex(2).
struct ClockReading {
  bool synchronized = false;     // by NTP or another source
  double max_error_seconds = 0;  // the kernel's bound; grows while the clock is not set
};

}  // namespace muster::agent

#endif  // MUSTER_AGENT_HARDWARE_READING_H_
