#include "trainer/engine/step/device_memory.h"

#include <algorithm>
#include <cstddef>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/byte_text.h"
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

// Says what is in the memory besides the state of training.
std::string Rest(const DeviceMemory& memory) {
  if (!memory.allocator.has_value()) return ", the rest is activations";
  const DeviceMemory::Allocator& allocator = *memory.allocator;
  return absl::StrCat(
      ", and ", ByteText(allocator.others), " of activations and other tensors; ",
      ByteText(allocator.unused),
      " more are in pieces that no tensor has, and the most that tensors had at one "
      "time was ",
      ByteText(allocator.most));
}

std::string Advice(const TrainingOptions& options, const Shard& shard) {
  std::string advice = "needs less: ";
  if (options.micro_batch > 1) {
    absl::StrAppend(&advice, "train.microBatch ", options.micro_batch / 2, " in place of ",
                    options.micro_batch, ", ");
  }
  absl::StrAppend(&advice, "a shorter train.sequence");
  if (options.types.compute == options.types.parameters) {
    absl::StrAppend(&advice, ", train.precision bf16");
  }
  if (shard.whole() || !options.divided.values) {
    absl::StrAppend(&advice, ", trainer.parallelism.zero 3 with more ranks");
  }
  return advice;
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

absl::Status ExplainNoMemory(const absl::Status& status, const TrainingState& state) {
  if (!absl::IsResourceExhausted(status)) return status;
  const DeviceMemory memory = ReadDeviceMemory(state);
  return absl::ResourceExhaustedError(absl::StrCat(
      status.message(), "; this rank holds ", ByteText(memory.weights), " of weights, ",
      ByteText(memory.gradients), " of gradients and ", ByteText(memory.optimizer),
      " of optimizer state", Rest(memory), "; ", Advice(state.options(), state.shard())));
}

}  // namespace muster::trainer
