#include "planner/devices.h"

#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"

namespace muster::planner {
namespace {

// Arithmetic and memory are those of the makers' data sheets, for dense numbers, of the SXM and OAM
// boards: NVIDIA A100 (June 2021), H100 (2023), H200 (2024), DGX B200 (2024), AMD Instinct MI300X
// (2023). FP32 is that of matrix products without TF32. The memory is the driver's total, which is
// a little less than the name says. The A100's links are as vTrain measured them (arXiv
// 2312.12391): 229 GB/s for 1 GB among 8, and the start and hop follow from its 19.8 and 23.7 GB/s
// for 1 MB among 8 and 2. That is 0.76 of the data sheet's one-way rate. The other links have 0.7
// to 0.8 of theirs, least without a switch (MI300X) and most with NVLink 4, whose switches add. The
// network is one adapter a device: 200 Gb/s beside an A100 and 400 Gb/s beside the others, as in
// the makers' reference machines. The CPU stands for a server with two sockets of 32 cores with
// AVX-512.

std::vector<Device> Ampere() {
  return {
      {.name = "A100-40GB",
       .product = "A100-SXM4-40GB",
       .fp64 = 19.5e12,
       .fp32 = 19.5e12,
       .bf16 = 312e12,
       .memory_bytes = int64_t{40'536} << 20,
       .memory_bandwidth = 1.555e12,
       .joined = 8,
       .link_bandwidth = 229e9,
       .link_start = 30e-6,
       .link_hop = 7e-6,
       .network_bandwidth = 25e9,
       .network_start = 10e-6},
      {.name = "A100-80GB",
       .product = "A100-SXM4-80GB",
       .fp64 = 19.5e12,
       .fp32 = 19.5e12,
       .bf16 = 312e12,
       .memory_bytes = int64_t{81'251} << 20,
       .memory_bandwidth = 2.039e12,
       .joined = 8,
       .link_bandwidth = 229e9,
       .link_start = 30e-6,
       .link_hop = 7e-6,
       .network_bandwidth = 25e9,
       .network_start = 10e-6},
  };
}

std::vector<Device> Hopper() {
  return {
      {.name = "H100",
       .product = "H100",
       .fp64 = 66.9e12,
       .fp32 = 66.9e12,
       .bf16 = 989.4e12,
       .fp8 = 1978.9e12,
       .memory_bytes = int64_t{81'559} << 20,
       .memory_bandwidth = 3.35e12,
       .joined = 8,
       .link_bandwidth = 360e9,
       .link_start = 25e-6,
       .link_hop = 4e-6,
       .network_bandwidth = 50e9,
       .network_start = 10e-6},
      {.name = "H200",
       .product = "H200",
       .fp64 = 66.9e12,
       .fp32 = 66.9e12,
       .bf16 = 989.4e12,
       .fp8 = 1978.9e12,
       .memory_bytes = int64_t{143'771} << 20,
       .memory_bandwidth = 4.8e12,
       .joined = 8,
       .link_bandwidth = 360e9,
       .link_start = 25e-6,
       .link_hop = 4e-6,
       .network_bandwidth = 50e9,
       .network_start = 10e-6},
  };
}

std::vector<Device> Blackwell() {
  return {
      {.name = "B200",
       .product = "B200",
       .fp64 = 37e12,
       .fp32 = 75e12,
       .bf16 = 2250e12,
       .fp8 = 4500e12,
       .memory_bytes = int64_t{183'359} << 20,
       .memory_bandwidth = 8e12,
       .joined = 8,
       .link_bandwidth = 690e9,
       .link_start = 25e-6,
       .link_hop = 4e-6,
       .network_bandwidth = 50e9,
       .network_start = 10e-6},
  };
}

std::vector<Device> Others() {
  return {
      {.name = "MI300X",
       .product = "MI300X",
       .fp64 = 163.4e12,
       .fp32 = 163.4e12,
       .bf16 = 1307.4e12,
       .fp8 = 2614.9e12,
       .memory_bytes = int64_t{196'592} << 20,
       .memory_bandwidth = 5.3e12,
       .joined = 8,
       .link_bandwidth = 310e9,
       .link_start = 30e-6,
       .link_hop = 7e-6,
       .network_bandwidth = 50e9,
       .network_start = 10e-6},
      {.name = "CPU",
       .product = "CPU",
       .fp64 = 2e12,
       .fp32 = 4e12,
       .bf16 = 8e12,
       .fp8 = 8e12,
       .memory_bytes = int64_t{512} << 30,
       .memory_bandwidth = 0.4e12,
       .joined = 1,
       .link_bandwidth = 10e9,
       .link_start = 30e-6,
       .link_hop = 10e-6,
       .network_bandwidth = 3e9,
       .network_start = 30e-6,
       .disk_bandwidth = 1e9,
       .is_cpu = true},
  };
}

}  // namespace

double Device::Rate(Precision precision) const {
  switch (precision) {
    case Precision::kFp64:
      return fp64;
    case Precision::kFp32:
      return fp32;
    case Precision::kBf16:
    case Precision::kFp16:
      return bf16;
    case Precision::kFp8:
      return fp8;
  }
  return 0;
}

const std::vector<Device>& Devices() {
  static const auto& devices = *[] {
    auto* all = new std::vector<Device>(Ampere());
    for (const Device& device : Hopper()) all->push_back(device);
    for (const Device& device : Blackwell()) all->push_back(device);
    for (const Device& device : Others()) all->push_back(device);
    return all;
  }();
  return devices;
}

const Device* FindDevice(absl::string_view name) {
  for (const Device& device : Devices()) {
    if (absl::EqualsIgnoreCase(device.name, name)) return &device;
  }
  const std::string given = absl::AsciiStrToUpper(name);
  for (const Device& device : Devices()) {
    if (!device.is_cpu && absl::StrContains(given, absl::AsciiStrToUpper(device.product)))
      return &device;
  }
  return nullptr;
}

Device ShareOfMachine(Device device, int32_t ranks) {
  for (double Device::* part :
       {&Device::fp64, &Device::fp32, &Device::bf16, &Device::fp8, &Device::memory_bandwidth,
        &Device::network_bandwidth, &Device::disk_bandwidth}) {
    device.*part /= ranks;
  }
  device.memory_bytes /= ranks;
  device.joined = ranks;
  return device;
}

Wiring WiringOf(const Device& device) {
  return {.joined = device.joined, .machine = device.joined};
}

}  // namespace muster::planner
