#include "agent/hardware/nvml_queries.h"

#include <cstddef>
#include <cstring>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"

namespace muster::agent {
namespace {

using nvml::kSuccess;

// No machine has more; a driver that says so is not believed.
constexpr uint32_t kMostGpus = 256;

template <size_t kSize>
std::string TextOf(const char (&buffer)[kSize]) {
  return std::string(buffer, ::strnlen(buffer, kSize));
}

}  // namespace

std::optional<std::string> DriverVersionOf(const NvmlLibrary& nvml) {
  char version[96] = "";
  if (nvml.driver_version == nullptr || nvml.driver_version(version, sizeof(version)) != kSuccess) {
    return std::nullopt;
  }
  return TextOf(version);
}

std::optional<std::string> UuidOf(const NvmlLibrary& nvml, nvml::Device device) {
  char uuid[96] = "";
  if (nvml.device_uuid(device, uuid, sizeof(uuid)) != kSuccess) return std::nullopt;
  return TextOf(uuid);
}

std::optional<std::string> ProductOf(const NvmlLibrary& nvml, nvml::Device device) {
  char name[96] = "";
  if (nvml.device_name(device, name, sizeof(name)) != kSuccess) return std::nullopt;
  return TextOf(name);
}

std::optional<std::string> PciAddressOf(const NvmlLibrary& nvml, nvml::Device device) {
  nvml::PciInfo info{};
  if (nvml.pci_info(device, &info) != kSuccess) return std::nullopt;
  // NVML writes "00000000:1B:00.0".
  const std::string address = absl::AsciiStrToLower(TextOf(info.bus_id));
  return address.find(':') == 8 ? address.substr(4) : address;
}

absl::StatusOr<uint32_t> CountGpus(const NvmlLibrary& nvml) {
  uint32_t count = 0;
  const nvml::Return counted = nvml.device_count(&count);
  if (counted == kSuccess && count <= kMostGpus) return count;
  return absl::UnavailableError(
      absl::StrCat("NVML does not count the GPUs: ",
                   counted != kSuccess ? nvml.Describe(counted) : absl::StrCat("it says ", count)));
}

}  // namespace muster::agent
