#ifndef MUSTER_TRAINER_DEVICE_DEVICE_RUNTIME_H_
#define MUSTER_TRAINER_DEVICE_DEVICE_RUNTIME_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "c10/core/Device.h"
#include "trainer/comm/communicator.h"
#include "trainer/device/device_versions.h"
#include "trainer/kernels/kernels.h"

namespace muster::trainer {

struct DeviceFacts {
  std::string name;  // e.g. "NVIDIA H200"
  std::string uuid;  // of no other device, on any machine
  // The card that it is a part of, as a MIG device is; of no other card, on any machine. NCCL
  // refuses two ranks on one.
  std::string card;
  // CUDA's compute capability: 89 is 8.9.
  int capability = 0;
  int64_t free_bytes = 0;
  int64_t total_bytes = 0;
};

// A group of ranks that each have a device of their own.
struct DeviceGroup {
  c10::Device device;
  std::string store;        // the endpoint of a RoundStore
  std::string secret = "";  // of that store
  int rank = 0;
  int size = 1;
  std::string tag;  // names the group within the store
  absl::Duration deadline;
};

// A rank on its way into such a group, as a RoundConnector.
class DeviceConnector {
 public:
  virtual ~DeviceConnector() = default;
  virtual absl::StatusOr<std::unique_ptr<Communicator>> Connect() = 0;
  // May be called from any thread.
  virtual void Abort(std::string_view why) = 0;
};

// The seam to a kind of devices on which LibTorch computes besides the CPU. It is made by a library
// that is loaded at run time, and built from one tree with its user. Errors are sentences;
// FailedPrecondition says that something of the machine is missing. Thread-safe.
class DeviceRuntime {
 public:
  virtual ~DeviceRuntime() = default;

  virtual c10::DeviceType type() const = 0;
  // Returns the versions of what is there; no device is touched.
  virtual absl::StatusOr<DeviceVersions> Versions() = 0;
  // Returns how many devices this process sees; at least 1.
  virtual absl::StatusOr<int> Count() = 0;
  // Makes a device the calling thread's current one, and runs a kernel there, as proof that driver,
  // libraries and machine code go together.
  virtual absl::Status Use(int index) = 0;
  virtual absl::StatusOr<DeviceFacts> Describe(int index) = 0;
  // They live as long as the process.
  virtual const Kernels& kernels() = 0;
  // Makes the way into a group whose tensors are on the device.
  virtual absl::StatusOr<std::unique_ptr<DeviceConnector>> MakeConnector(
      const DeviceGroup& group) = 0;
};

// The one function of such a library, by this name.
extern "C" DeviceRuntime* MusterDeviceRuntime();

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_DEVICE_DEVICE_RUNTIME_H_
