#ifndef MUSTER_PLANNER_DEVICE_MEMORY_H_
#define MUSTER_PLANNER_DEVICE_MEMORY_H_

#include <cstdint>

#include "planner/devices.h"
#include "planner/memory.h"
#include "planner/step_time.h"

namespace muster::planner {

// The memory of one rank of muster's trainer on a device: what memory.h counts, and what the
// device's software takes besides. Pure arithmetic, thread-safe. In bytes.
struct DeviceMemory {
  // On a GPU it lacks the copy that a checkpoint is written from, which is in `on_host` then.
  MemoryEstimate rank;
  // The context of the driver and its kernels.
  int64_t driver = 0;
  // The buffers of the groups in which the rank exchanges.
  int64_t collectives = 0;
  // Memory that an allocator holds and cannot use, because its pieces do not fit.
  int64_t reserve = 0;
  // The copy that a checkpoint is written from, in the memory of the machine.
  int64_t on_host = 0;

  int64_t Total() const { return rank.Total() + driver + collectives + reserve; }
};

// Requires a layout that CheckLayout (search.h) accepts.
DeviceMemory EstimateDevice(const Work& work, const Layout& layout, const Device& device,
                            OptimizerKind optimizer);

}  // namespace muster::planner

#endif  // MUSTER_PLANNER_DEVICE_MEMORY_H_
