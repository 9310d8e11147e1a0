#ifndef MUSTER_TESTS_GPU_USE_DEVICE_H_
#define MUSTER_TESTS_GPU_USE_DEVICE_H_

#include <string>

#include "absl/status/statusor.h"
#include "c10/core/Device.h"

namespace muster::trainer {

// Makes "cpu", or "cuda", the first card that this process sees, the device of this thread, and
// returns it. For programs of the kit, beside which muster's library for GPUs is. InvalidArgument
// for another name.
absl::StatusOr<c10::Device> UseDevice(const std::string& name);

}  // namespace muster::trainer

#endif  // MUSTER_TESTS_GPU_USE_DEVICE_H_
