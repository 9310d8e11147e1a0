#ifndef MUSTER_AGENT_HARDWARE_NVML_GPUS_H_
#define MUSTER_AGENT_HARDWARE_NVML_GPUS_H_

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "agent/hardware/nvml_library.h"
#include "agent/hardware/reading.h"

namespace muster::agent {

// Reads the GPUs of a machine by NVML. Not thread-safe. Calls block for as long as the driver
// takes, usually less than a millisecond for each value.
class NvmlGpus {
 public:
  // The delay before NVML is tried again after it was absent: a driver may be installed later.
  static constexpr absl::Duration kRetry = absl::Minutes(1);

  // `path` as for NvmlLibrary::Load(); nothing is loaded before the first Read().
  explicit NvmlGpus(std::string path) : path_(std::move(path)) {}
  ~NvmlGpus();

  // Reads everything that this driver gives. A call that fails leaves its value empty; a GPU that
  // the driver has lost keeps its identity and is marked. `now` is monotonic.
  GpuReadings Read(absl::Time now);

 private:
  struct Known {
    nvml::Device device = nullptr;
    bool listens = false;  // its events are registered
    std::string uuid;
    std::string product;
    std::string pci_address;
    uint64_t memory_bytes = 0;
  };

  absl::Status Load();
  GpuReading ReadGpu(uint32_t index);
  void Identify(nvml::Device device, Known& known) const;
  void ReadValues(nvml::Device device, GpuReading& gpu) const;
  void ReadErrors(nvml::Device device, GpuReading& gpu) const;
  void ReadNvlinks(nvml::Device device, GpuReading& gpu) const;
  void ReadFabric(nvml::Device device, GpuReading& gpu) const;
  void Listen(Known& known);
  std::vector<XidEvent> TakeXids();

  const std::string path_;
  std::unique_ptr<NvmlLibrary> nvml_;  // null while NVML is absent
  std::string absence_;
  absl::Time next_try_ = absl::InfinitePast();
  nvml::EventSet events_ = nullptr;
  std::map<uint32_t, Known> known_;  // by index
};

}  // namespace muster::agent

#endif  // MUSTER_AGENT_HARDWARE_NVML_GPUS_H_
