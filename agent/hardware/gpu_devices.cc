#include "agent/hardware/gpu_devices.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "absl/status/statusor.h"
#include "agent/hardware/machine_reader.h"
#include "agent/hardware/nvml_library.h"
#include "agent/hardware/nvml_queries.h"

namespace muster::agent {
namespace {

using nvml::kSuccess;

// No GPU has more; a driver that says so is not believed.
constexpr uint32_t kMostMigDevices = 256;
// Distances, see GpuDevices.
constexpr int kSameGpu = 0;
constexpr int kOverNvlink = 1;
constexpr int kSameBoard = 2;
constexpr int kUnknown = kSameBoard + nvml::kLevelSystem / nvml::kLevelStep;

// Returns what CUDA computes on of a GPU: its MIG devices if it is divided, else itself.
std::vector<nvml::Device> PartsOf(const NvmlLibrary& driver, nvml::Device gpu) {
  uint32_t now = 0;
  uint32_t next = 0;
  const bool divided = driver.mig_mode != nullptr &&
                       driver.mig_mode(gpu, &now, &next) == kSuccess && now == nvml::kMigEnabled;
  if (!divided) return {gpu};
  std::vector<nvml::Device> parts;
  uint32_t most = 0;
  if (driver.most_mig_devices == nullptr || driver.mig_device == nullptr ||
      driver.most_mig_devices(gpu, &most) != kSuccess) {
    return parts;
  }
  for (uint32_t i = 0; i < std::min(most, kMostMigDevices); ++i) {
    nvml::Device part = nullptr;
    if (driver.mig_device(gpu, i, &part) == kSuccess) parts.push_back(part);
  }
  return parts;
}

int DistanceOf(const NvmlLibrary& driver, nvml::Device a, nvml::Device b) {
  int32_t status = 0;
  if (driver.peer_status != nullptr &&
      driver.peer_status(a, b, nvml::kPeerOverNvlink, &status) == kSuccess &&
      status == nvml::kPeerOk) {
    return kOverNvlink;
  }
  int32_t level = 0;
  if (driver.common_ancestor == nullptr || driver.common_ancestor(a, b, &level) != kSuccess) {
    return kUnknown;
  }
  return kSameBoard + std::clamp(level, 0, nvml::kLevelSystem) / nvml::kLevelStep;
}

// Adds the devices of one GPU.
void AddDevices(const NvmlLibrary& driver, int index, nvml::Device gpu, const SysfsTree& sys,
                std::vector<GpuDevice>& devices) {
  GpuDevice device{.gpu = index, .pci_address = PciAddressOf(driver, gpu).value_or("")};
  device.product = ProductOf(driver, gpu).value_or("");
  if (IsPciAddress(device.pci_address)) device.numa_node = NumaNodeOfPci(sys, device.pci_address);
  for (nvml::Device part : PartsOf(driver, gpu)) {
    device.uuid = UuidOf(driver, part).value_or("");
    if (!device.uuid.empty()) devices.push_back(device);
  }
}

}  // namespace

GpuDevices ReadGpuDevices(const std::string& nvml, const SysfsTree& sys) {
  GpuDevices found;
  const auto driver = NvmlLibrary::Load(nvml);
  if (!driver.ok()) {
    found.absence = std::string(driver.status().message());
    return found;
  }
  found.driver_version = DriverVersionOf(**driver).value_or("");
  const absl::StatusOr<uint32_t> count = CountGpus(**driver);
  if (!count.ok()) {
    found.absence = std::string(count.status().message());
    return found;
  }
  std::vector<nvml::Device> gpus(*count, nullptr);
  for (uint32_t i = 0; i < *count; ++i) {
    if ((*driver)->device_by_index(i, &gpus[i]) != kSuccess) continue;
    AddDevices(**driver, static_cast<int>(i), gpus[i], sys, found.devices);
  }
  for (const GpuDevice& from : found.devices) {
    std::vector<int>& row = found.distances.emplace_back();
    for (const GpuDevice& to : found.devices) {
      row.push_back(from.gpu == to.gpu ? kSameGpu
                                       : DistanceOf(**driver, gpus[static_cast<size_t>(from.gpu)],
                                                    gpus[static_cast<size_t>(to.gpu)]));
    }
  }
  return found;
}

}  // namespace muster::agent
