#include "tests/bench/device_peak.h"

#include <algorithm>
#include <cstddef>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "c10/core/CachingDeviceAllocator.h"

namespace muster::trainer {

absl::StatusOr<int64_t> TakeDevicePeak(c10::Device device) {
  auto* const allocator = dynamic_cast<c10::DeviceAllocator*>(c10::GetAllocator(device.type()));
  if (allocator == nullptr || !allocator->initialized()) {
    return absl::FailedPreconditionError(
        absl::StrCat("the allocator of ", device.str(), " does not count"));
  }
  const auto index = std::max<c10::DeviceIndex>(device.index(), 0);
  constexpr auto kAll = static_cast<size_t>(c10::CachingAllocator::StatType::AGGREGATE);
  const int64_t peak = allocator->getDeviceStats(index).allocated_bytes[kAll].peak;
  allocator->resetPeakStats(index);
  return peak;
}

}  // namespace muster::trainer
