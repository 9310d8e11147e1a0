#include "trainer/engine/step/device_memory.h"

#include <algorithm>
#include <cstddef>

#include "c10/core/CachingDeviceAllocator.h"
#include "c10/util/Exception.h"
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

// Returns null on the CPU, and before there is anything on the device.
c10::DeviceAllocator* AllocatorOf(c10::Device device) {
  if (device.is_cpu()) return nullptr;
  auto* const allocator = dynamic_cast<c10::DeviceAllocator*>(c10::GetAllocator(device.type()));
  return allocator != nullptr && allocator->initialized() ? allocator : nullptr;
}

c10::DeviceIndex IndexOf(c10::Device device) {
  return std::max<c10::DeviceIndex>(device.index(), 0);
}

}  // namespace

std::optional<AllocatorCounters> ReadAllocator(c10::Device device) {
  c10::DeviceAllocator* const allocator = AllocatorOf(device);
  if (allocator == nullptr) return std::nullopt;
  const auto stats = allocator->getDeviceStats(IndexOf(device));
  constexpr auto kAll = static_cast<size_t>(c10::CachingAllocator::StatType::AGGREGATE);
  return AllocatorCounters{.used = stats.allocated_bytes[kAll].current,
                           .reserved = stats.reserved_bytes[kAll].current,
                           .most = stats.allocated_bytes[kAll].peak,
                           .retries = stats.num_alloc_retries};
}

int64_t MemoryOfDevice(c10::Device device) {
  c10::DeviceAllocator* const allocator = AllocatorOf(device);
  if (allocator == nullptr) return 0;
  try {
    return static_cast<int64_t>(allocator->getMemoryInfo(IndexOf(device)).second);
  } catch (const c10::Error&) {
    return 0;
  }
}

std::optional<v1alpha1::DeviceMemory> MemoryForVote(c10::Device device, int64_t total) {
  if (device.is_cpu()) return std::nullopt;
  const AllocatorCounters counters = ReadAllocator(device).value_or(AllocatorCounters{});
  v1alpha1::DeviceMemory memory;
  memory.set_total(total);
  memory.set_reserved(counters.reserved);
  memory.set_allocated_peak(counters.most);
  memory.set_retries(counters.retries);
  return memory;
}

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
  if (const auto counters = ReadAllocator(state.options().device)) {
    const int64_t known = memory.weights + memory.gradients + memory.optimizer;
    memory.allocator = {.others = std::max(counters->used - known, int64_t{0}),
                        .unused = std::max(counters->reserved - counters->used, int64_t{0}),
                        .most = counters->most,
                        .retries = counters->retries};
  }
  return memory;
}

}  // namespace muster::trainer
