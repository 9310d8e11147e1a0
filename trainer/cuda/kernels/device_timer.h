#ifndef MUSTER_TRAINER_CUDA_KERNELS_DEVICE_TIMER_H_
#define MUSTER_TRAINER_CUDA_KERNELS_DEVICE_TIMER_H_

#include <cstddef>
#include <functional>

#include "trainer/cuda/kernels/launch_result.h"

namespace muster::trainer::cuda {

// Time on the default stream, for benchmarks. An error ends the process with a sentence.

// Enqueues a copy within the device's memory.
LaunchResult CopyOnDevice(const void* from, size_t bytes, void* to);

// Returns the seconds of one of `repeats` runs of what `launch` enqueues, by the device's own clock
// (the host's in emulation), after a few that are not counted.
double SecondsOf(int repeats, const std::function<LaunchResult()>& launch);

}  // namespace muster::trainer::cuda

#endif  // MUSTER_TRAINER_CUDA_KERNELS_DEVICE_TIMER_H_
