#include "tests/bench/counting_allocator.h"

#include <cstring>

#include "c10/core/CPUAllocator.h"

namespace muster::trainer {
namespace {

// The size of a tensor's memory stands before it, in so many bytes: as many as memory is aligned
// to.
constexpr size_t kHeader = 64;

}  // namespace

CountingAllocator& CountingAllocator::Install() {
  static auto* allocator = [] {
    auto* made = new CountingAllocator(*c10::GetCPUAllocator());
    c10::SetCPUAllocator(made, /*priority=*/100);
    return made;
  }();
  return *allocator;
}

c10::DataPtr CountingAllocator::allocate(size_t bytes) {
  auto* const base = static_cast<std::byte*>(inner_.raw_allocate(bytes + kHeader));
  std::memcpy(base, &bytes, sizeof bytes);
  Add(static_cast<int64_t>(bytes));
  void* const data = base + kHeader;
  return {data, data, &Free, c10::Device(c10::DeviceType::CPU)};
}

void CountingAllocator::Free(void* data) {
  if (data == nullptr) return;
  CountingAllocator& allocator = Install();
  std::byte* const base = static_cast<std::byte*>(data) - kHeader;
  size_t bytes = 0;
  std::memcpy(&bytes, base, sizeof bytes);
  allocator.Add(-static_cast<int64_t>(bytes));
  allocator.inner_.raw_deallocate(base);
}

void CountingAllocator::copy_data(void* to, const void* from, std::size_t count) const {
  default_copy_data(to, from, count);
}

void CountingAllocator::Add(int64_t bytes) {
  const int64_t now = bytes_ += bytes;
  int64_t peak = peak_;
  while (now > peak && !peak_.compare_exchange_weak(peak, now)) {
  }
}

}  // namespace muster::trainer
