#include "agent/hardware/gpu_devices.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "agent/hardware/machine_reader.h"
#include "agent/hardware/nvml_library.h"

namespace muster::agent {
namespace {

using nvml::kSuccess;

// No machine has more GPUs, and no GPU more MIG devices; a driver that says so is not believed.
constexpr uint32_t kMost = 256;
// Distances, see GpuDevices.
constexpr int kSameGpu = 0;
constexpr int kOverNvlink = 1;
constexpr int kSameBoard = 2;
constexpr int kUnknown = kSameBoard + nvml::kLevelSystem / nvml::kLevelStep;

std::string UuidOf(const NvmlLibrary& driver, nvml::Device device) {
  char uuid[96] = "";
  return driver.device_uuid(device, uuid, sizeof(uuid)) == kSuccess ? uuid : "";
}

// Turns NVML's "00000000:1B:00.0" into sysfs' "0000:1b:00.0".
std::string PciAddressOf(const NvmlLibrary& driver, nvml::Device device) {
  nvml::PciInfo info{};
  if (driver.pci_info(device, &info) != kSuccess) return "";
  info.bus_id[sizeof(info.bus_id) - 1] = '\0';
  const std::string address = absl::AsciiStrToLower(info.bus_id);
  return address.find(':') == 8 ? address.substr(4) : address;
}

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
  for (uint32_t i = 0; i < std::min(most, kMost); ++i) {
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
  GpuDevice device{.gpu = index, .pci_address = PciAddressOf(driver, gpu)};
  char name[96] = "";
  if (driver.device_name(gpu, name, sizeof(name)) == kSuccess) device.product = name;
  if (IsPciAddress(device.pci_address)) device.numa_node = NumaNodeOfPci(sys, device.pci_address);
  for (nvml::Device part : PartsOf(driver, gpu)) {
    device.uuid = UuidOf(driver, part);
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
  char version[96] = "";
  if ((*driver)->driver_version != nullptr &&
      (*driver)->driver_version(version, sizeof(version)) == kSuccess) {
    found.driver_version = version;
  }
  uint32_t count = 0;
  const nvml::Return counted = (*driver)->device_count(&count);
  if (counted != kSuccess || count > kMost) {
    found.absence = absl::StrCat("NVML does not count the GPUs: ", (*driver)->Describe(counted));
    return found;
  }
  std::vector<nvml::Device> gpus(count, nullptr);
  for (uint32_t i = 0; i < count; ++i) {
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
