#ifndef MUSTER_AGENT_HARDWARE_NVML_QUERIES_H_
#define MUSTER_AGENT_HARDWARE_NVML_QUERIES_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "agent/hardware/nvml_library.h"

namespace muster::agent {

// Each asks NVML for a fact of the machine or of a device; nullopt if NVML does not say it.
std::optional<std::string> DriverVersionOf(const NvmlLibrary& nvml);
std::optional<std::string> UuidOf(const NvmlLibrary& nvml, nvml::Device device);
std::optional<std::string> ProductOf(const NvmlLibrary& nvml, nvml::Device device);
// Returns the address as sysfs writes it, "0000:1b:00.0".
std::optional<std::string> PciAddressOf(const NvmlLibrary& nvml, nvml::Device device);

// Returns the number of GPUs. Unavailable, in words, if NVML does not count them, or says a number
// that no machine has.
absl::StatusOr<uint32_t> CountGpus(const NvmlLibrary& nvml);

}  // namespace muster::agent

#endif  // MUSTER_AGENT_HARDWARE_NVML_QUERIES_H_
