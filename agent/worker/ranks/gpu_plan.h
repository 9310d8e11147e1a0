#ifndef MUSTER_AGENT_WORKER_RANKS_GPU_PLAN_H_
#define MUSTER_AGENT_WORKER_RANKS_GPU_PLAN_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "agent/hardware/reading.h"

namespace muster::agent {

// Returns the GPU of each of a worker's `gpus` ranks, by local rank, so that ranks next to each
// other have GPUs that are near to each other. `visible` is NVIDIA_VISIBLE_DEVICES, by which a
// container runtime says which GPUs of the machine are the worker's. Where NVML is absent,
// `visible` alone decides; if it has no UUIDs either, the plan is empty, and the trainer finds out
// what it has. Unavailable, in words for the job's author, if there are fewer GPUs than ranks.
// Pure.
absl::StatusOr<std::vector<GpuDevice>> PlanGpus(const GpuDevices& there, const std::string& visible,
                                                int gpus);

}  // namespace muster::agent

#endif  // MUSTER_AGENT_WORKER_RANKS_GPU_PLAN_H_
