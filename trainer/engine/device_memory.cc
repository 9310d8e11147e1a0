#include "trainer/engine/device_memory.h"

#include <algorithm>
#include <cstddef>

#include "c10/core/CachingDeviceAllocator.h"
#include "trainer/parallel/flat_memory.h"

namespace muster::trainer {
namespace {

int64_t BytesOf(const at::Tensor& tensor) {
  return HasMemory(tensor) ? static_cast<int64_t>(tensor.nbytes()) : 0;
}

// Returns the bytes of a unit's tensor as a whole, and of the slice if that has memory of its own.
int64_t BytesOf(const at::Tensor& whole, const at::Tensor& slice) {
  return BytesOf(whole) + (slice.is_alias_of(whole) ? 0 : BytesOf(slice));
}

void ReadAllocator(c10::Device device, DeviceMemory& memory) {
  if (device.is_cpu()) return;
  auto* const allocator = dynamic_cast<c10::DeviceAllocator*>(c10::GetAllocator(device.type()));
  if (allocator == nullptr || !allocator->initialized()) return;
  const auto stats = allocator->getDeviceStats(std::max<c10::DeviceIndex>(device.index(), 0));
  constexpr auto kAll = static_cast<size_t>(c10::CachingAllocator::StatType::AGGREGATE);
  const int64_t used = stats.allocated_bytes[kAll].current;
  const int64_t known = memory.weights + memory.gradients + memory.optimizer;
  memory.allocator = {.others = std::max(used - known, int64_t{0}),
                      .unused = std::max(stats.reserved_bytes[kAll].current - used, int64_t{0}),
                      .most = stats.allocated_bytes[kAll].peak,
                      .retries = stats.num_alloc_retries};
}

}  // namespace

DeviceMemory ReadDeviceMemory(const TrainingState& state) {
  DeviceMemory memory;
  for (size_t u = 0; u < state.units().size(); ++u) {
    const Unit& unit = state.units()[u];
    memory.weights += BytesOf(unit.values(), unit.held().values);
    memory.gradients += BytesOf(unit.gradients(), unit.held().gradients);
    for (const at::Tensor& tensor : state.optimizer().state(static_cast<int>(u))) {
      memory.optimizer += BytesOf(tensor);
    }
  }
  ReadAllocator(state.options().device, memory);
  return memory;
}

}  // namespace muster::trainer
