#ifndef MUSTER_TRAINER_PROCESS_PROCESS_DEVICE_H_
#define MUSTER_TRAINER_PROCESS_PROCESS_DEVICE_H_

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/clock.h"
#include "c10/core/Device.h"
#include "planner/memory.h"
#include "proto/muster/v1alpha1/training_job.pb.h"
#include "trainer/device/device_runtime.h"
#include "trainer/process/memory_check.h"

namespace muster::trainer {

// Where a rank computes.
struct ProcessDevice {
  c10::Device device = c10::DeviceType::CPU;
  DeviceRuntime* runtime = nullptr;  // null on the CPU
  DeviceFacts facts;
};

using LoadDevices = std::function<absl::StatusOr<DeviceRuntime*>()>;

// Chooses the device of a job's rank: the CPU if workers.gpus is 0, else one of the GPUs that this
// process sees, by the local rank. It becomes the thread's current device, with our kernels and, if
// the job is deterministic, with LibTorch's deterministic operators. `load` is called only for
// GPUs, and may be null. An error names workers.gpus and what is missing.
absl::StatusOr<ProcessDevice> ChooseDevice(const v1alpha1::TrainingJobSpec& spec, int local_rank,
                                           const LoadDevices& load);

// Checks that a GPU can multiply FP8 numbers; a CPU computes with them in software.
// FailedPrecondition names the GPU and says what to use instead.
absl::Status CheckFp8Of(const ProcessDevice& device);

// The seconds that one product of two small matrices takes on this CPU. A CPU without bfloat16
// instructions computes it in software, many times slower than fp32. The speed is measured, because
// neither the CPU's name nor its flags show how LibTorch multiplies on it.
struct ProductTimes {
  double fp32 = 0.0;
  double bf16 = 0.0;
};

// Takes some milliseconds on the threads that the model uses. Unknown if LibTorch fails.
absl::StatusOr<ProductTimes> MeasureProducts(const Clock& clock);

// Returns a warning, with the factor, if bf16 takes more than twice as long as fp32. Pure.
std::optional<std::string> SlowBf16(const ProductTimes& times);

// Checks that the model fits into memory. On a GPU, a rank's state and activations must fit into
// the GPU's free memory, and the checkpoint copies of `ranks` ranks into the host's; on the CPU
// everything must fit into the host's. `available` is the host's free memory in bytes. Errors as
// CheckMemory().
absl::Status CheckMemoryOf(const ProcessDevice& device, const planner::MemoryEstimate& estimate,
                           int ranks, int64_t available,
                           const std::vector<MemoryOption>& options = {});

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_PROCESS_PROCESS_DEVICE_H_
