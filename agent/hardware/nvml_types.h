#ifndef MUSTER_AGENT_HARDWARE_NVML_TYPES_H_
#define MUSTER_AGENT_HARDWARE_NVML_TYPES_H_

#include <cstdint>

// The part of NVML's C interface that the node agent calls, declared after NVIDIA's "NVML API
// Reference" (docs.nvidia.com/deploy/nvml-api): the library is loaded at run time, so nothing of
// NVIDIA's is needed to build. Layouts and numbers are those of the 64-bit Linux ABI, which NVIDIA
// keeps: a changed struct gets a new function name.
namespace muster::agent::nvml {

using Return = int32_t;
inline constexpr Return kSuccess = 0;
inline constexpr Return kNotSupported = 3;
inline constexpr Return kDriverNotLoaded = 9;
inline constexpr Return kTimeout = 10;
inline constexpr Return kGpuIsLost = 15;

using Device = struct DeviceHandle*;
using EventSet = struct EventSetHandle*;

struct PciInfo {
  char bus_id_legacy[16];
  uint32_t domain;
  uint32_t bus;
  uint32_t device;
  uint32_t pci_device_id;
  uint32_t pci_subsystem_id;
  char bus_id[32];  // "00000000:1B:00.0"
};
static_assert(sizeof(PciInfo) == 68);

struct Memory {
  uint64_t total;
  uint64_t free;
  uint64_t used;
};

struct Utilization {
  uint32_t gpu;     // percent
  uint32_t memory;  // percent of the time in which memory was read or written
};

// Kinds of errors and periods of counting.
inline constexpr int32_t kErrorCorrected = 0;
inline constexpr int32_t kErrorUncorrected = 1;
inline constexpr int32_t kSinceDriverLoad = 0;  // NVML_VOLATILE_ECC
inline constexpr int32_t kTemperatureGpu = 0;

inline constexpr uint32_t kMaxNvlinks = 36;
inline constexpr int32_t kFeatureEnabled = 1;
inline constexpr int32_t kNvlinkReplay = 0;
inline constexpr int32_t kNvlinkRecovery = 1;
inline constexpr int32_t kNvlinkCrcFlit = 2;

inline constexpr uint32_t kFieldNvlinkDataSent = 138;      // KiB, all links with kAllLinks
inline constexpr uint32_t kFieldNvlinkDataReceived = 139;  // KiB
inline constexpr uint32_t kAllLinks = 0xFFFFFFFF;
inline constexpr int32_t kValueUint = 1;
inline constexpr int32_t kValueUlong = 2;
inline constexpr int32_t kValueUlongLong = 3;

struct FieldValue {
  uint32_t field;
  uint32_t scope;
  int64_t timestamp_us;
  int64_t latency_us;
  int32_t value_type;
  Return result;
  union {
    double real;
    uint32_t u32;
    uint64_t u64;
    int64_t s64;
  } value;
};
static_assert(sizeof(FieldValue) == 40);

// Between two GPUs: whether they reach each other's memory over NVLink, and the levels of the part
// of the machine that both share, from one board (0) to the whole (50) in steps of 10.
inline constexpr int32_t kPeerOverNvlink = 2;
inline constexpr int32_t kPeerOk = 0;
inline constexpr int32_t kLevelStep = 10;
inline constexpr int32_t kLevelSystem = 50;

inline constexpr uint32_t kMigEnabled = 1;

inline constexpr uint32_t kFabricCompleted = 3;

struct GpuFabricInfo {
  uint8_t cluster_uuid[16];
  Return status;
  uint32_t clique;
  // Versions of NVML's header disagree on its width; little-endian, and zeroed before the call, it
  // reads the same.
  uint32_t state;
};

inline constexpr uint64_t kEventXid = 0x8;

struct EventData {
  Device device;
  uint64_t type;
  uint64_t data;  // of an XID event: the XID
  uint32_t gpu_instance;
  uint32_t compute_instance;
};
static_assert(sizeof(EventData) == 32);

}  // namespace muster::agent::nvml

#endif  // MUSTER_AGENT_HARDWARE_NVML_TYPES_H_
