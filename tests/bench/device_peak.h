#ifndef MUSTER_TESTS_BENCH_DEVICE_PEAK_H_
#define MUSTER_TESTS_BENCH_DEVICE_PEAK_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "c10/core/Device.h"

namespace muster::trainer {

// Returns the most bytes that tensors on the device had at one time since the last call, or since
// the process has started, as torch.cuda.max_memory_allocated() counts them. FailedPrecondition on
// a device whose allocator does not count, such as the CPU. Does not wait for the device.
absl::StatusOr<int64_t> TakeDevicePeak(c10::Device device);

}  // namespace muster::trainer

#endif  // MUSTER_TESTS_BENCH_DEVICE_PEAK_H_
