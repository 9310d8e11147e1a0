#ifndef MUSTER_TRAINER_ENGINE_DEVICE_MEMORY_H_
#define MUSTER_TRAINER_ENGINE_DEVICE_MEMORY_H_

#include <cstdint>
#include <optional>

#include "trainer/engine/training_state.h"

namespace muster::trainer {

// A rank's memory by its use, in bytes: that of its tensors, and, on a device, the counters of
// LibTorch's allocator there.
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
  std::optional<Allocator> allocator;  // empty on the CPU, whose allocator does not count
};

// Does not wait for the device.
DeviceMemory ReadDeviceMemory(const TrainingState& state);

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_ENGINE_DEVICE_MEMORY_H_
