#ifndef MUSTER_TRAINER_ENGINE_STEP_DEVICE_MEMORY_H_
#define MUSTER_TRAINER_ENGINE_STEP_DEVICE_MEMORY_H_

#include <cstdint>
#include <optional>

#include "absl/status/status.h"
#include "c10/core/Device.h"
#include "proto/muster/v1alpha1/run_state.pb.h"
#include "trainer/engine/state/training_state.h"

namespace muster::trainer {

// The counters of LibTorch's allocator on a device, in bytes.
struct AllocatorCounters {
  int64_t used = 0;      // in tensors now
  int64_t reserved = 0;  // taken from the device, for tensors or the next ones
  int64_t most = 0;      // in tensors at one time, since the process has started
  int64_t retries = 0;   // how often memory was given back to the device to get any
};

// Returns nullopt on the CPU, whose allocator does not count. Does not wait for the device.
std::optional<AllocatorCounters> ReadAllocator(c10::Device device);

// Returns the bytes of a device's memory; 0 on the CPU, and where the device does not say.
int64_t MemoryOfDevice(c10::Device device);

// Returns what the vote carries of the memory of a rank's device, which has `total` bytes; nullopt
// on the CPU. Does not wait for the device.
std::optional<v1alpha1::DeviceMemory> MemoryForVote(c10::Device device, int64_t total);

// A rank's memory by its use, in bytes: that of its tensors, and, on a device, what LibTorch's
// allocator has there.
struct DeviceMemory {
  struct Allocator {
    int64_t others = 0;   // in tensors besides those below: activations, mostly
    int64_t unused = 0;   // taken from the device, and in no tensor now
    int64_t most = 0;     // in tensors at one time, since the process has started
    int64_t retries = 0;  // how often memory was given back to the device to get any
  };

  int64_t weights = 0;
  int64_t gradients = 0;
  int64_t optimizer = 0;
  std::optional<Allocator> allocator;  // empty on the CPU
};

// Does not wait for the device.
DeviceMemory ReadDeviceMemory(const TrainingState& state);

// Adds to a ResourceExhausted that says what a device could not give: what this rank holds there by
// its use, and which fields of the job would need less. Other statuses are returned as they are.
absl::Status ExplainNoMemory(const absl::Status& status, const TrainingState& state);

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_ENGINE_STEP_DEVICE_MEMORY_H_
